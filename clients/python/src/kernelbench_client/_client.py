"""The client without asyncio: the other one, in a thread of its own."""

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from ._async_client import AsyncClient
from .types import Batch, Candidate, Evaluation, Event, Rewarded

T = TypeVar("T")
_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has none of its parent's threads


def _unlock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_unlock)


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="kernelbench-client", daemon=True).start()
            _loops[os.getpid()] = loop
        return loop


def _run(work: Coroutine[Any, Any, T]) -> T:
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    except BaseException:  # Ctrl-C: the request ends, too
        future.cancel()
        raise


class Client:
    """As AsyncClient, whose methods these are. Threads may share one, it may be pickled, and it works on after a fork."""

    def __init__(self, url: str | None = None, token: str | None = None, *, socket: str | os.PathLike[str] | None = None, patience_s: float = 120.0, in_flight: int = 16,
                 chunk: int = 64) -> None:
        self.asynchronous = AsyncClient(url, token, socket=socket, patience_s=patience_s, in_flight=in_flight, chunk=chunk)

    def __repr__(self) -> str:
        return f"Client({str(self.asynchronous.address)!r})"

    def evaluate(self, candidate: Candidate, *, timeout_s: float = 600.0, whole: bool = False) -> Evaluation:
        """Judges a candidate and waits. When `timeout_s` is over, the evaluation is told as far as it is (`ended`)."""
        return _run(self.asynchronous.evaluate(candidate, timeout_s=timeout_s, whole=whole))

    def submit(self, candidate: Candidate) -> Evaluation:
        """Has a candidate judged, and does not wait."""
        return _run(self.asynchronous.submit(candidate))

    def get(self, id: str, *, wait_s: float = 0.0, whole: bool = False) -> Evaluation:
        return _run(self.asynchronous.get(id, wait_s=wait_s, whole=whole))

    def wait(self, id: str, *, timeout_s: float = 600.0, whole: bool = False) -> Evaluation:
        """Until it has ended, or `timeout_s` is over."""
        return _run(self.asynchronous.wait(id, timeout_s=timeout_s, whole=whole))

    def events(self, id: str, *, first: int = 0) -> Iterator[Event]:
        """How far it is, until it has ended. A stream that breaks is taken up where it broke."""
        events = self.asynchronous.events(id, first=first)

        async def following() -> Event | None:
            return await anext(events, None)

        async def close() -> None:
            await events.aclose()  # type: ignore[attr-defined]

        try:
            while (event := _run(following())) is not None:
                yield event
        finally:
            _run(close())

    def cancel(self, id: str) -> Evaluation:
        """Ends it, also while it is judged. Refused, with status 409, if it has ended."""
        return _run(self.asynchronous.cancel(id))

    def batch(self, candidates: Iterable[Candidate]) -> Batch:
        """Has up to 1,000 candidates judged, all or none, and does not wait."""
        return _run(self.asynchronous.batch(candidates))

    def get_batch(self, id: str, *, wait_s: float = 0.0) -> Batch:
        return _run(self.asynchronous.get_batch(id, wait_s=wait_s))

    def wait_batch(self, id: str, *, timeout_s: float = 600.0) -> Batch:
        return _run(self.asynchronous.wait_batch(id, timeout_s=timeout_s))

    def cancel_batch(self, id: str) -> Batch:
        """Cancels those that have not ended."""
        return _run(self.asynchronous.cancel_batch(id))

    def rewards(self, candidates: Iterable[Candidate], reward: str = "sure_gain", *, best: Sequence[float | None] | None = None, timeout_s: float = 600.0,
                attempts: int = 2) -> list[Rewarded]:
        """Rewards, in the order of the candidates, when all have ended or `timeout_s` is over. See AsyncClient.rewards()."""
        return _run(self.asynchronous.rewards(candidates, reward, best=best, timeout_s=timeout_s, attempts=attempts))

    def problems(self) -> list[dict[str, Any]]:
        return _run(self.asynchronous.problems())

    def problem(self, name: str) -> dict[str, Any]:
        """One problem, with its text."""
        return _run(self.asynchronous.problem(name))

    def protocols(self) -> list[dict[str, Any]]:
        return _run(self.asynchronous.protocols())

    def reward_names(self) -> list[str]:
        return _run(self.asynchronous.reward_names())

    def health(self) -> dict[str, Any]:
        return _run(self.asynchronous.health())
