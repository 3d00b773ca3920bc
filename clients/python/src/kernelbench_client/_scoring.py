"""What the adapters share."""

import functools
from collections.abc import Mapping
from typing import Any

from ._async_client import AsyncClient
from ._client import Client
from .errors import KernelbenchError
from .types import Candidate, Evaluation, Language, Rewarded


class NoReward(KernelbenchError):
    """There is no number, and the framework takes nothing else."""


def candidate_in(answer: str, problem: str | None, language: Language, fields: Mapping[str, Any]) -> Candidate:
    """In a completion. A `backend` among the fields says more than the language."""
    return Candidate(problem, answer=answer, **fields) if "backend" in fields else Candidate(problem, answer=answer, **{"name": f"candidate.{language}", **fields})


def why_none(rewarded: Rewarded) -> str:
    """Why a reward is None, in a sentence."""
    evaluation = rewarded.evaluation
    if rewarded.error is not None or evaluation is None:
        return str(rewarded.error)
    if evaluation.state != "done":
        return f"evaluation {evaluation.id} is {evaluation.state}: {evaluation.error or 'the time for it was over'}"
    return f"evaluation {evaluation.id} is {evaluation.verdict} and has no speedup: {evaluation.no_speedup}"


def number_of(rewarded: Rewarded, null_reward: float | None) -> float:
    if rewarded.reward is not None:
        return rewarded.reward
    if null_reward is not None:
        return null_reward
    evaluation = rewarded.evaluation
    raise NoReward(f"there is no reward: {why_none(rewarded)}", fault=(evaluation and evaluation.fault) or "machine", retryable=evaluation is None or evaluation.retryable)


def feedback(evaluation: Evaluation) -> str:
    """For the next turn."""
    if not evaluation.ended:
        return "It was not judged in time."
    if evaluation.state != "done":
        return f"It could not be judged: {evaluation.error}"
    if not evaluation.correct:
        return f"{evaluation.verdict}: {evaluation.reason}"
    if evaluation.speedup is None or evaluation.speedup_interval is None:
        return f"correct; there is no speedup: {evaluation.no_speedup}"
    low, high = evaluation.speedup_interval
    return f"correct; its speedup is {evaluation.speedup:.3g}, and certainly between {low:.3g} and {high:.3g}"


@functools.cache
def shared_client(url: str | None, token: str | None, in_flight: int) -> AsyncClient:
    return AsyncClient(url, token, in_flight=in_flight, chunk=1000)


@functools.cache
def shared_sync_client(url: str | None, token: str | None) -> Client:
    return Client(url, token)


def metadata(evaluation: Evaluation | None) -> Mapping[str, Any]:
    """What is worth a column beside a reward. Every row has the same keys and kinds."""
    return {
        "kernelbench_verdict": (evaluation and evaluation.verdict) or "",
        "kernelbench_speedup": float((evaluation and evaluation.speedup) or 0.0),
        "kernelbench_correct": float(bool(evaluation and evaluation.correct)),
        "kernelbench_build_s": evaluation.build_s if evaluation else 0.0,
    }
