"""For verifiers, and what runs its tasksets, such as prime-rl (docs/guide/training.md): `vf-eval kernelbench-verifiers`. Needs verifiers."""

from collections.abc import Iterable
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.configs.task import TaskConfig
from verifiers.v1.configs.taskset import TasksetConfig

from ._client import Client
from ._scoring import candidate_in, metadata, number_of, shared_client
from .prompts import rows
from .types import Language, Rewarded

_IN_FLIGHT = 512


class KernelbenchTaskConfig(TaskConfig):  # type: ignore[misc]
    """`--env.taskset.task.*`"""

    url: str | None = None
    reward: str = "sure_gain"
    language: Language = "py"
    size: str = "standard"
    protocol: str = "strict"
    keys: dict[str, Any] = {}
    run: str | None = None
    timeout_s: float = 600.0
    attempts: int = 4


class KernelbenchTasksetConfig(TasksetConfig):  # type: ignore[misc]
    """`--env.taskset.*`"""

    task: KernelbenchTaskConfig = KernelbenchTaskConfig()
    problems: list[str] = []
    """Names, such as 1/19; all of `deck` without any."""
    deck: str = "kernelbench"


class KernelbenchData(vf.TaskData):  # type: ignore[misc]
    problem: str


class KernelbenchTask(vf.Task[KernelbenchData, vf.State, KernelbenchTaskConfig]):  # type: ignore[misc]
    async def finalize(self, trace: Any, runtime: Any) -> None:
        """Judges the answer once, for the reward and the metrics."""
        config = self.config
        fields = {"cut_off": trace.is_truncated, "size": config.size, "protocol": config.protocol, "keys": config.keys or None, "run": config.run}
        candidate = candidate_in(trace.last_reply, self.data.problem, config.language, fields)
        (self._rewarded,) = await shared_client(config.url, None, _IN_FLIGHT).rewards([candidate], config.reward, timeout_s=config.timeout_s, attempts=config.attempts)

    _rewarded: Rewarded

    @vf.reward(weight=1.0)  # type: ignore[untyped-decorator]
    async def kernelbench(self, trace: Any) -> float:
        """Without a number it is an error of the rollout, which trainers leave out."""
        return number_of(self._rewarded, None)

    @vf.metric  # type: ignore[untyped-decorator]
    async def judged(self, trace: Any) -> dict[str, float]:
        return {name: value for name, value in metadata(self._rewarded.evaluation).items() if isinstance(value, float)}


class KernelbenchTaskset(vf.Taskset[KernelbenchTask, KernelbenchTasksetConfig]):  # type: ignore[misc]
    def load(self) -> Iterable[KernelbenchTask]:
        config = self.config
        client = Client(config.task.url)
        problems = config.problems or [each["name"] for each in client.problems() if each["deck"] == config.deck]
        for row in rows(client, problems, config.task.language):
            yield KernelbenchTask(KernelbenchData(name=row["problem"], problem=row["problem"], prompt=row["prompt"]), config.task)
