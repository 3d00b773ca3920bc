"""The client, in asyncio. What is asked again is asked under the same idempotency key, so nothing is judged twice."""

import asyncio
import dataclasses
import json
import os
import re
import time
import uuid
import weakref
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from ._http import Address, Exchange, Garbled, Lost, address_of
from .errors import KernelbenchError, Refused, UnexpectedAnswer, Unreachable, refusal
from .types import Batch, Candidate, Evaluation, Event, Rewarded, read_batch, read_evaluation, read_list, read_object, read_rewarded

MOST_WAIT_S = 600.0  # that the service takes
_MARGIN_S = 30.0  # in which an answer must have come, beyond what it was asked to wait
_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0
_MOST_EVENT = 64 << 20  # bytes
_CHUNK_BYTES = 16 << 20  # of one request; the service takes 64 MiB
_MOST_ANSWER = 16 << 20  # characters that the service takes; one that is longer was cut off there
_LONE = re.compile("[\ud800-\udfff]")  # no UTF-8, and so no JSON for the service
_FOLDER = "kernelbench folder\n"  # begins a packed folder, which a source may not be


@dataclasses.dataclass
class _Waiting:
    """A candidate whose reward is wanted."""

    index: int
    candidate: Candidate
    best: float | None
    attempts: int = 1
    last: Evaluation | None = None
    body: bytes = b""


def _clean(candidate: Candidate) -> Candidate:
    """What a policy writes must not spoil the request of all others."""
    source, answer, cut_off = candidate.source, candidate.answer, candidate.cut_off
    if source is not None:
        source = _LONE.sub("\ufffd", source)
        source = "\n" + source if source.startswith(_FOLDER) else source
    if answer is not None:
        cut_off = cut_off or len(answer) > _MOST_ANSWER or None
        answer = _LONE.sub("\ufffd", answer[:_MOST_ANSWER])
    return dataclasses.replace(candidate, source=source, answer=answer, cut_off=cut_off, idempotency_key=candidate.idempotency_key or uuid.uuid4().hex)


class AsyncClient:
    """Of a service at `url`, with `token`; or at the Unix socket `socket`. Without either KERNELBENCH_URL and KERNELBENCH_TOKEN say where, else it is the socket beside
    the store.

    `patience_s`: a service that is not there, or stops, is asked again for so long. `in_flight`: requests at the same time; others wait, and are not even written down
    before. `chunk`: candidates in one request for rewards, no more than the token may have open.
    """

    def __init__(self, url: str | None = None, token: str | None = None, *, socket: str | os.PathLike[str] | None = None, patience_s: float = 120.0, in_flight: int = 16,
                 chunk: int = 64) -> None:
        self.address: Address = address_of(url, socket)
        self.patience_s, self.in_flight, self.chunk = patience_s, max(1, in_flight), min(max(1, chunk), 1000)
        self._token = (token or os.environ.get("KERNELBENCH_TOKEN") or "").strip()
        if not re.fullmatch(r"[!-~]*", self._token):
            raise ValueError("the token is none: kernelbench token add prints one")
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.address)!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loops": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _loops=weakref.WeakKeyDictionary())

    # ---- One evaluation ----

    async def evaluate(self, candidate: Candidate, *, timeout_s: float = 600.0, whole: bool = False) -> Evaluation:
        """Judges a candidate and waits. When `timeout_s` is over, the evaluation is told as far as it is (`ended`)."""
        until = time.monotonic() + timeout_s
        told = read_evaluation(await self._post("/v1/evaluations", _clean(candidate).to_json(), _query(timeout_s, whole), wait_s=timeout_s, until=until))
        return told if told.ended or candidate.keep is False else await self.wait(told.id, timeout_s=until - time.monotonic(), whole=whole)

    async def submit(self, candidate: Candidate) -> Evaluation:
        """Has a candidate judged, and does not wait."""
        return read_evaluation(await self._post("/v1/evaluations", _clean(candidate).to_json()))

    async def get(self, id: str, *, wait_s: float = 0.0, whole: bool = False) -> Evaluation:
        return read_evaluation(await self._ask("GET", f"/v1/evaluations/{quote(id, '')}", _query(wait_s, whole), wait_s=wait_s))

    async def wait(self, id: str, *, timeout_s: float = 600.0, whole: bool = False) -> Evaluation:
        """Until it has ended, or `timeout_s` is over."""
        until = time.monotonic() + timeout_s
        while True:
            left = until - time.monotonic()
            told = await self.get(id, wait_s=left, whole=whole)
            if told.ended or until - time.monotonic() <= 0:
                return told
            await asyncio.sleep(_PAUSE_S)  # the service is ending, or the most that it waits is over

    async def events(self, id: str, *, first: int = 0) -> AsyncIterator[Event]:
        """How far it is, until it has ended. A stream that breaks is taken up where it broke."""
        lost: float | None = None
        while True:
            try:
                async for event in self._events(f"/v1/evaluations/{quote(id, '')}/events?from={first}"):
                    first, lost = event.number + 1, None
                    yield event
                    if event.name in ("done", "failed", "cancelled"):
                        return
                why = "the stream ended before the evaluation did"
            except (Lost, asyncio.IncompleteReadError, OSError) as error:
                why = str(error)
            except (Garbled, asyncio.LimitOverrunError) as garbled:
                raise UnexpectedAnswer(f"{self.address}: {garbled}") from None
            except Refused as refused:
                if not refused.retryable:
                    raise
                why = refused.detail
            lost = time.monotonic() if lost is None else lost
            if time.monotonic() - lost + _PAUSE_S > self.patience_s:
                raise Unreachable(f"{self.address}: {why}")
            await asyncio.sleep(_PAUSE_S)

    async def _events(self, target: str) -> AsyncIterator[Event]:
        async with Exchange(self.address, "GET", target, self._headers(), None) as answer:
            if answer.status != 200:
                raise refusal(answer.status, answer.headers, await answer.body())
            left = b""
            async for part in answer.chunks():
                *blocks, left = (left + part).split(b"\n\n")
                for block in blocks:
                    if event := _event(block):
                        yield event
                if len(left) > _MOST_EVENT:
                    raise Garbled(f"an event has more than {_MOST_EVENT >> 20} MiB")

    async def cancel(self, id: str) -> Evaluation:
        """Ends it, also while it is judged. Refused, with status 409, if it has ended."""
        return read_evaluation(await self._ask("DELETE", f"/v1/evaluations/{quote(id, '')}"))

    # ---- Many ----

    async def batch(self, candidates: Iterable[Candidate]) -> Batch:
        """Has up to 1,000 candidates judged, all or none, and does not wait."""
        return read_batch(await self._post("/v1/batches", {"evaluations": [_clean(each).to_json() for each in candidates]}))

    async def get_batch(self, id: str, *, wait_s: float = 0.0) -> Batch:
        return read_batch(await self._ask("GET", f"/v1/batches/{quote(id, '')}", _query(wait_s), wait_s=wait_s))

    async def wait_batch(self, id: str, *, timeout_s: float = 600.0) -> Batch:
        until = time.monotonic() + timeout_s
        while True:
            told = await self.get_batch(id, wait_s=until - time.monotonic())
            if told.open == 0 or until - time.monotonic() <= 0:
                return told
            await asyncio.sleep(_PAUSE_S)

    async def cancel_batch(self, id: str) -> Batch:
        """Cancels those that have not ended."""
        return read_batch(await self._ask("DELETE", f"/v1/batches/{quote(id, '')}"))

    async def rewards(self, candidates: Iterable[Candidate], reward: str = "sure_gain", *, best: Sequence[float | None] | None = None, timeout_s: float = 600.0,
                      attempts: int = 2) -> list[Rewarded]:
        """Rewards, in the order of the candidates, when all have ended or `timeout_s` is over.

        What the machine or the engine spoilt is judged again, up to `attempts` times in all. A service that is gone for longer than the client's patience, or answers what
        cannot be believed, leaves a reward of None, with `error`. An error is raised if no reward could be had at all, or if the request is wrong.
        """
        until, done, tasks = time.monotonic() + timeout_s, dict[int, Rewarded](), set[asyncio.Task[None]]()
        semaphore = self._semaphore()
        chunks = self._chunks(candidates, best)
        try:
            while chunk := await asyncio.to_thread(next, chunks, None):
                await semaphore.acquire()
                task = asyncio.create_task(self._reward_chunk(chunk, reward, until, attempts, done))
                tasks.add(task)
                task.add_done_callback(lambda _: semaphore.release())
                del chunk
                for ended in [each for each in tasks if each.done()]:
                    tasks.remove(ended)
                    ended.result()
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        rewarded = [done[i] for i in range(len(done))]
        if rewarded and all(one.error and one.evaluation is None for one in rewarded) and (error := rewarded[0].error):
            raise error
        return rewarded

    def _chunks(self, candidates: Iterable[Candidate], best: Sequence[float | None] | None) -> Iterator[list[_Waiting]]:
        """One after the other, each made when it is its turn: what is not in flight takes no memory."""
        chunk, size = list[_Waiting](), 0
        for i, candidate in enumerate(candidates):
            one = _Waiting(i, _clean(candidate), best[i] if best is not None else None)
            one.body = _encoded(one.candidate.to_json())
            if chunk and (len(chunk) == self.chunk or size + len(one.body) > _CHUNK_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(one)
            size += len(one.body)
        if chunk:
            yield chunk

    async def _reward_chunk(self, chunk: list[_Waiting], reward: str, until: float, attempts: int, done: dict[int, Rewarded]) -> None:
        error: KernelbenchError | None = None
        while chunk:
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                answer = await self._post_rewards(chunk, reward, left, until)
            except KernelbenchError as failed:
                if isinstance(failed, Refused) and not failed.retryable:
                    raise
                error = failed
                break
            chunk = _take(chunk, answer, attempts, done)
            if chunk:
                await asyncio.sleep(min(_PAUSE_S, max(0.0, until - time.monotonic())))
        for one in chunk:
            done[one.index] = Rewarded(None, one.last, error)

    async def _post_rewards(self, chunk: list[_Waiting], reward: str, left: float, until: float) -> list[Rewarded]:
        head: dict[str, Any] = {"reward": reward, "timeout_s": round(min(left, 86400.0), 3)}
        if any(one.best is not None for one in chunk):
            head["best"] = [one.best for one in chunk]
        body = _encoded(head)[:-1] + b',"evaluations":[' + b",".join(one.body for one in chunk) + b"]}"
        told = read_list(await self._ask("POST", "/v1/rewards", body=body, wait_s=left, until=until), "rewards")
        if len(told) != len(chunk):
            raise UnexpectedAnswer(f"{self.address} gives {len(told)} rewards for {len(chunk)} candidates: it is no service of a version that this client knows")
        return [read_rewarded(each, one.candidate) for each, one in zip(told, chunk)]

    # ---- What there is ----

    async def problems(self) -> list[dict[str, Any]]:
        return [read_object(each) for each in read_list(await self._ask("GET", "/v1/problems"), "problems")]

    async def problem(self, name: str) -> dict[str, Any]:
        """One problem, with its text."""
        return read_object(await self._ask("GET", f"/v1/problems/{quote(name, '')}"))

    async def protocols(self) -> list[dict[str, Any]]:
        return [read_object(each) for each in read_list(await self._ask("GET", "/v1/protocols"), "protocols")]

    async def reward_names(self) -> list[str]:
        return [str(read_object(each).get("name")) for each in read_list(await self._ask("GET", "/v1/rewards"), "rewards")]

    async def health(self) -> dict[str, Any]:
        return read_object(await self._ask("GET", "/health"))

    # ---- Requests ----

    def _semaphore(self) -> asyncio.Semaphore:
        return self._loops.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.in_flight))

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", **({"Authorization": f"Bearer {self._token}"} if self._token else {})}

    async def _post(self, path: str, body: dict[str, Any], query: dict[str, Any] | None = None, *, wait_s: float = 0.0, until: float | None = None) -> Any:
        async with self._semaphore():
            return await self._ask("POST", path, query, body=_encoded(body), wait_s=wait_s, until=until)

    async def _ask(self, method: str, path: str, query: dict[str, Any] | None = None, *, body: bytes | None = None, wait_s: float = 0.0, until: float | None = None) -> Any:
        """The JSON of the answer. Asks again after a lost connection and what is retryable, for `patience_s`; while the quota is full, until `until`."""
        target = f"{path}?{urlencode(query)}" if query else path
        failing: float | None = None
        pause = _PAUSE_S
        while True:
            try:
                status, headers, text = await asyncio.wait_for(self._exchange(method, target, body), max(0.0, wait_s) + _MARGIN_S)
            except (Lost, OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as lost:
                error: KernelbenchError = Unreachable(f"{self.address} does not answer ({lost or 'too late'}): does the service run there? kernelbench service status says so")
            except Garbled as garbled:
                raise UnexpectedAnswer(f"{self.address}: {garbled}") from None
            else:
                if status < 300:
                    return _parsed(text)
                refused = refusal(status, headers, text)
                if not refused.retryable or status not in (429, 502, 503, 504):
                    raise refused
                error, pause = refused, refused.retry_after_s or pause
            now = time.monotonic()
            failing = now if failing is None else failing
            full = isinstance(error, Refused) and error.status == 429
            last = failing + self.patience_s
            if until is not None:
                last = until if full else min(last, until)
            if now + pause > last:
                raise error
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    async def _exchange(self, method: str, target: str, body: bytes | None) -> tuple[int, dict[str, str], bytes]:
        async with Exchange(self.address, method, target, self._headers(), body) as answer:
            return answer.status, answer.headers, await answer.body()


def _take(chunk: list[_Waiting], answer: list[Rewarded], attempts: int, done: dict[int, Rewarded]) -> list[_Waiting]:
    """Those that are to be asked for again: what has not ended under its key, what was spoilt under a new one."""
    again = []
    for one, told in zip(chunk, answer):
        evaluation = one.last = told.evaluation
        spoilt = told.reward is None and evaluation is not None and evaluation.ended and evaluation.retryable
        if evaluation is not None and not evaluation.ended:
            again.append(one)
        elif spoilt and one.attempts < attempts:
            one.attempts += 1
            one.candidate = dataclasses.replace(one.candidate, idempotency_key=f"{str(one.candidate.idempotency_key)[:180]}~{one.attempts}")
            one.body = _encoded(one.candidate.to_json())
            again.append(one)
        else:
            done[one.index] = told
    return again


def _event(block: bytes) -> Event | None:
    """None of a comment, which keeps the connection."""
    lines = dict(line.split(": ", 1) for line in block.decode(errors="replace").split("\n") if ": " in line and not line.startswith(":"))
    if "event" not in lines:
        return None
    if not lines.get("id", "").isdecimal():
        raise Garbled("an event has no number")
    return Event(int(lines["id"]), lines["event"], read_object(_parsed(lines.get("data", "").encode())))


def _query(wait_s: float, whole: bool = False) -> dict[str, Any]:
    return {"wait": round(min(max(wait_s, 0.0), MOST_WAIT_S), 3), **({"whole": "true"} if whole else {})}


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise UnexpectedAnswer("the answer is no JSON: it is no KernelBench service") from None
