"""For verl (docs/guide/training.md): `reward.custom_reward_function.path=pkg://kernelbench_client.verl`. verl itself is not imported: it calls what is here.

`ground_truth` is the problem's name. All else is in reward_kwargs: url, token, reward, language, timeout_s, attempts, null_reward, and the fields of Candidate.
verl takes a number from each sample, so one without a reward is an error, after `attempts` at it, unless `null_reward` says which number to give.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ._scoring import candidate_in, metadata, number_of, shared_client, shared_sync_client
from .types import Candidate, Language, Rewarded

_IN_FLIGHT = 512  # verl asks for one sample at a time, and for all of a step at once


def _candidate(solution: str, problem: Any, language: Language, fields: Mapping[str, Any]) -> Candidate:
    plain: dict[str, Any] = {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()}  # of a configuration
    return candidate_in(solution, str(problem), language, plain)


def _score(rewarded: Rewarded, null_reward: float | None) -> dict[str, Any]:
    score = number_of(rewarded, null_reward)
    return {"score": score, "acc": float(bool(rewarded.evaluation and rewarded.evaluation.correct)), "kernelbench_null": float(rewarded.reward is None), **metadata(rewarded.evaluation)}


async def compute_score(data_source: str, solution_str: str, ground_truth: Any, extra_info: Any = None, *, url: str | None = None, token: str | None = None,
                        reward: str = "sure_gain", language: Language = "py", timeout_s: float = 600.0, attempts: int = 4, null_reward: float | None = None,
                        reward_router_address: Any = None, reward_model_tokenizer: Any = None, **fields: Any) -> dict[str, Any]:
    """Of one sample, for the reward managers naive and dapo."""
    candidate = _candidate(solution_str, ground_truth, language, fields)
    (rewarded,) = await shared_client(url, token, _IN_FLIGHT).rewards([candidate], reward, timeout_s=timeout_s, attempts=attempts)
    return _score(rewarded, null_reward)


def compute_score_batch(data_sources: Sequence[str], solution_strs: Sequence[str], ground_truths: Sequence[Any], extra_infos: Any = None, *, url: str | None = None,
                        token: str | None = None, reward: str = "sure_gain", language: Language = "py", timeout_s: float = 600.0, attempts: int = 4,
                        null_reward: float | None = None, **fields: Any) -> list[dict[str, Any]]:
    """Of a whole batch, for the reward manager batch."""
    candidates = (_candidate(solution, problem, language, fields) for solution, problem in zip(solution_strs, ground_truths, strict=True))
    rewarded = shared_sync_client(url, token).rewards(candidates, reward, timeout_s=timeout_s, attempts=attempts)
    return [_score(one, null_reward) for one in rewarded]
