"""What is asked of the service, and what it answers. docs/reference/api.md tells what each field means."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from .errors import KernelbenchError, UnexpectedAnswer

Language = Literal["py", "cpp", "cu"]  # of a candidate: Python with ModelNew, or C++ or CUDA with kb_forward()
State = Literal["queued", "preparing", "judging", "done", "failed", "cancelled"]
STATES = ("queued", "preparing", "judging", "done", "failed", "cancelled")


@dataclass(frozen=True)
class Candidate:
    """A candidate to be judged. Exactly one of problem and problem_text says for which problem, and exactly one of source, answer, files and
    sha256 gives its text. What is None is left to the service."""

    problem: str | None
    source: str | None = None
    answer: str | None = None  # a model's whole completion: the service takes the candidate out of it
    files: Mapping[str, str] | None = None
    sha256: str | None = None
    name: str | None = None
    size: str | None = None
    protocol: str | None = None
    keys: Mapping[str, Any] | None = None
    baseline: str | None = None
    device: str | None = None
    priority: int | None = None
    deadline_s: float | None = None
    idempotency_key: str | None = None
    run: str | None = None
    model: str | None = None
    sample: int | None = None
    keep: bool | None = None
    problem_text: str | None = None  # of a problem of one's own; needs the right problems
    backend: str | None = None  # of an answer: native, cpp, cuda, triton, ...; the ending of name says whether it is native, too
    cut_off: bool | None = None  # of an answer: it reached its limit of tokens

    def to_json(self) -> dict[str, Any]:
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}


@dataclass(frozen=True)
class Evaluation:
    """An evaluation, as far as it is. `raw` is all that the service said of it."""

    id: str
    state: State
    verdict: str | None
    reason: str | None
    speedup: float | None
    speedup_interval: tuple[float, float] | None
    no_speedup: str | None
    authorship: str | None
    fault: str | None
    retryable: bool
    error: str | None
    evaluation_id: str | None
    extraction: Mapping[str, str] | None  # how the candidate was taken from an answer, or why there is none
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    @property
    def correct(self) -> bool:
        return self.verdict == "correct"

    @property
    def build_s(self) -> float:
        """Seconds that its build took; 0 where there was none."""
        spent = self.raw.get("engine_us")
        us = spent.get("build") if isinstance(spent, dict) else None
        return us / 1e6 if isinstance(us, (int, float)) else 0.0


@dataclass(frozen=True)
class Batch:
    id: str
    open: int
    evaluations: list[Evaluation]


@dataclass(frozen=True)
class Rewarded:
    """The reward of one candidate. None is no 0: there is no number, for reasons that are not the candidate's. `evaluation`, else `error`, says which."""

    reward: float | None
    evaluation: Evaluation | None
    error: KernelbenchError | None = None


@dataclass(frozen=True)
class Event:
    number: int
    name: str
    data: Mapping[str, Any]


# ---- Answers are checked before they are believed: another version, or another program, may have sent them ----


def _wrong(what: str) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"{what}: it is no service of a version that this client knows")


def read_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong("the answer is no JSON object")
    return value


def read_list(value: Any, key: str) -> list[Any]:
    found = read_object(value).get(key)
    if not isinstance(found, list):
        raise _wrong(f"the answer has no {key}")
    return found


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _wrong("what must be a number is none")
    return float(value)


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _wrong("what must be text is none")
    return value


def _extraction(value: Any) -> dict[str, str] | None:
    if value is not None and (not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("outcome", "reason", "answer_sha256"))):
        raise _wrong("an extraction has no outcome, no reason or no digest of the answer")
    return value


def read_evaluation(value: Any) -> Evaluation:
    value = read_object(value)
    identity, state = value.get("id"), value.get("state")
    if not isinstance(identity, str) or state not in STATES or not isinstance(value.get("retryable"), bool):
        raise _wrong("an evaluation has no id, no state that is known, or does not say whether it is retryable")
    interval = value.get("speedup_interval")
    if interval is not None and (not isinstance(interval, list) or len(interval) != 2):
        raise _wrong("an interval has not two ends")
    low, high = [_number(end) for end in interval] if interval else (None, None)
    return Evaluation(
        identity, state, _text(value.get("verdict")), _text(value.get("reason")), _number(value.get("speedup")), None if low is None or high is None else (low, high),
        _text(value.get("no_speedup")), _text(value.get("authorship")), _text(value.get("fault")), value["retryable"], _text(value.get("error")), _text(value.get("evaluation_id")), _extraction(value.get("extraction")), value)


def read_batch(value: Any) -> Batch:
    value = read_object(value)
    if not isinstance(value.get("id"), str) or not isinstance(value.get("open"), int):
        raise _wrong("a batch has no id, or does not say how many are open")
    return Batch(value["id"], value["open"], [read_evaluation(each) for each in read_list(value, "evaluations")])


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_rewarded(value: Any, candidate: Candidate) -> Rewarded:
    """Only of the candidate that was sent, and a number only where there is a verdict."""
    value = read_object(value)
    evaluation = read_evaluation(value.get("evaluation"))
    if "reward" not in value:
        raise _wrong("an evaluation comes without its reward")
    reward = _number(value["reward"])
    if reward is not None and evaluation.state != "done":
        raise _wrong(f"an evaluation that is {evaluation.state} has a reward")
    told = read_object(evaluation.raw.get("candidate")).get("sha256")
    sent = candidate.sha256 or (_sha256(candidate.source) if candidate.source is not None else None)
    if candidate.answer is not None:
        told, sent = evaluation.extraction and evaluation.extraction["answer_sha256"], _sha256(candidate.answer)
    if sent is not None and told != sent:
        raise _wrong("a reward is of another candidate than the one that was sent")
    return Rewarded(reward, evaluation)


def summary(rewarded: list[Rewarded]) -> dict[str, float]:
    """What to watch while training: shares of `rewarded`, from 0 to 1, and `build_s`, the mean seconds of a build."""
    if not rewarded:
        return {}
    evaluations = [one.evaluation for one in rewarded if one.evaluation]
    counts = {
        "null": sum(one.reward is None for one in rewarded),
        "correct": sum(one.correct for one in evaluations),
        "built": sum(one.verdict not in (None, "not_run", "static_rejected", "build_failed", "load_failed") for one in evaluations),
        "rejected": sum(one.verdict == "static_rejected" for one in evaluations),
        "tampered": sum(one.verdict == "tampered" for one in evaluations),
        "library": sum(one.correct and one.authorship == "library" for one in evaluations),
    }
    builds = [one.build_s for one in evaluations if one.build_s]
    return {**{name: count / len(rewarded) for name, count in counts.items()}, "build_s": sum(builds) / len(builds) if builds else 0.0}
