"""For SkyRL (docs/guide/training.md). Needs skyrl-gym:

    from skyrl_gym.envs import register
    register(id="kernelbench", entry_point="kernelbench_client.skyrl:KernelbenchEnv")

A row's `reward_spec.ground_truth` is the problem's name. env_config, or `extra_info` of the row, has: url, token, reward, language, timeout_s, attempts, max_turns,
null_reward, and the fields of Candidate. SkyRL takes a number from each step, so one without a reward is an error, after `attempts` at it, unless `null_reward` says
which number to give.
"""

from collections.abc import Mapping
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from ._scoring import candidate_in, feedback, metadata, number_of, shared_sync_client
from .types import Evaluation

_DEFAULTS = {"url": None, "token": None, "reward": "sure_gain", "language": "py", "timeout_s": 600.0, "attempts": 4, "max_turns": 1, "null_reward": None}


class KernelbenchEnv(BaseTextEnv):  # type: ignore[misc]
    """Each answer is judged. With max_turns above 1 the model reads what became of it, and answers again: a step pays what is above the best so far, so the rewards of the
    steps sum up to that of the best answer."""

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        row: dict[str, Any] = dict(extras or {})
        given: dict[str, Any] = {**dict(env_config or {}), **dict(row.get("extra_info") or {})}
        settings = {name: given.pop(name, default) for name, default in _DEFAULTS.items()}
        spec = dict(row.get("reward_spec") or {})
        if "ground_truth" not in spec:
            raise ValueError("the row has no reward_spec.ground_truth: it is the name of the problem, such as 1/19")
        self.problem, self.settings = str(spec["ground_truth"]), settings
        self.fields: dict[str, Any] = {name: dict(value) if isinstance(value, Mapping) else value for name, value in given.items()}
        self.max_turns = int(settings["max_turns"])
        self.best: float | None = None
        self.evaluations = list[Evaluation]()

    def step(self, action: str) -> BaseTextEnvStepOutput:
        self.turns += 1
        settings = self.settings
        candidate = candidate_in(action, self.problem, settings["language"], self.fields)
        client = shared_sync_client(settings["url"], settings["token"])
        (rewarded,) = client.rewards([candidate], settings["reward"], timeout_s=settings["timeout_s"], attempts=settings["attempts"])
        number = number_of(rewarded, settings["null_reward"])
        paid = number if self.best is None else max(0.0, number - self.best)
        self.best = number if self.best is None else max(self.best, number)
        done = self.turns >= self.max_turns
        told = feedback(rewarded.evaluation) if rewarded.evaluation else "It could not be judged."
        if rewarded.evaluation:
            self.evaluations.append(rewarded.evaluation)
        return BaseTextEnvStepOutput(
            observations=[] if done else [{"role": "user", "content": told}], reward=paid, done=done, metadata={**metadata(rewarded.evaluation), "kernelbench_null": rewarded.reward is None})

    def get_metrics(self) -> dict[str, Any]:
        last = self.evaluations[-1] if self.evaluations else None
        return {"correct": float(any(one.correct for one in self.evaluations)), "tampered": float(any(one.verdict == "tampered" for one in self.evaluations)),
                "build_s": last.build_s if last else 0.0, "turns": self.turns}
