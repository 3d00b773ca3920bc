"""For TRL's GRPOTrainer and its kin (docs/guide/training.md). TRL itself is not imported: it calls what is made here."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ._async_client import AsyncClient
from ._client import Client
from ._scoring import candidate_in, feedback
from .types import Candidate, Language, Rewarded, summary

Completion = str | Sequence[dict[str, Any]]


def text_of(completion: Completion) -> str:
    """What the model said last, of a conversation."""
    if isinstance(completion, str):
        return completion
    said = [message.get("content") for message in completion if message.get("role") == "assistant"]
    content = said[-1] if said else None
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or "")


class _Scoring:
    def __init__(self, reward: str, column: str, language: Language, timeout_s: float, fields: dict[str, Any]) -> None:
        self.reward, self.column, self.language, self.timeout_s, self.fields = reward, column, language, timeout_s, fields

    def candidates(self, completions: Sequence[Completion], columns: dict[str, Any]) -> Any:
        problems = columns.get(self.column)
        if problems is None:
            raise ValueError(f"the data set has no column {self.column!r}: it names each row's problem, such as 1/19")
        return (candidate_in(text_of(completion), problem, self.language, self.fields) for problem, completion in zip(problems, completions, strict=True))

    @staticmethod
    def told(rewarded: list[Rewarded], columns: dict[str, Any]) -> list[float | None]:
        if log_metric := columns.get("log_metric"):
            for name, value in summary(rewarded).items():
                log_metric(f"kernelbench/{name}", value)
        if log_extra := columns.get("log_extra"):
            log_extra("kernelbench", [feedback(one.evaluation) if one.evaluation else str(one.error) for one in rewarded])
        return [one.reward for one in rewarded]


def reward_func(client: Client | None = None, *, reward: str = "sure_gain", column: str = "problem", language: Language = "py", timeout_s: float = 600.0,
                **fields: Any) -> Callable[..., list[float | None]]:
    """One for `reward_funcs`. The column `column` of the data set names the problem; `fields` are those of Candidate: size, protocol, run, model, ..."""
    judge, scoring = client or Client(), _Scoring(reward, column, language, timeout_s, fields)

    def kernelbench(prompts: Sequence[Any], completions: Sequence[Completion], completion_ids: Any = None, **columns: Any) -> list[float | None]:
        return scoring.told(judge.rewards(scoring.candidates(completions, columns), reward, timeout_s=timeout_s), columns)

    return kernelbench


def async_reward_func(client: AsyncClient | None = None, *, reward: str = "sure_gain", column: str = "problem", language: Language = "py", timeout_s: float = 600.0,
                      **fields: Any) -> Callable[..., Awaitable[list[float | None]]]:
    """The same, which TRL runs beside other asynchronous ones."""
    judge, scoring = client or AsyncClient(), _Scoring(reward, column, language, timeout_s, fields)

    async def kernelbench(prompts: Sequence[Any], completions: Sequence[Completion], completion_ids: Any = None, **columns: Any) -> list[float | None]:
        return scoring.told(await judge.rewards(scoring.candidates(completions, columns), reward, timeout_s=timeout_s), columns)

    return kernelbench


class KernelEnvironment:
    """One rollout in which the model submits candidates and reads what became of them. Its reward is that of the best one."""

    def __init__(self, client: Client, reward: str, column: str, timeout_s: float, fields: dict[str, Any]) -> None:
        self._client, self._reward, self._column, self._timeout_s, self._fields = client, reward, column, timeout_s, fields
        self._problem, self._rewards = "", list[float | None]()

    def reset(self, **row: Any) -> str | None:
        self._problem, self._rewards = str(row[self._column]), []
        return None

    def submit_kernel(self, code: str) -> str:
        """
        Judges a candidate: is it correct, and how fast is it?

        Args:
            code: The whole text of the candidate's file.

        Returns:
            The verdict, and what to do better.
        """
        (rewarded,) = self._client.rewards([Candidate(self._problem, str(code), **self._fields)], self._reward, timeout_s=self._timeout_s)
        self._rewards.append(rewarded.reward)
        return feedback(rewarded.evaluation) if rewarded.evaluation else "It could not be judged."

    def get_reward(self) -> float | None:
        """0 for a rollout without a candidate; None if none of its candidates has a number."""
        numbers = [each for each in self._rewards if each is not None]
        return max(numbers) if numbers else None if self._rewards else 0.0


def environment_factory(client: Client | None = None, *, reward: str = "sure_gain", column: str = "problem", timeout_s: float = 600.0,
                        **fields: Any) -> Callable[[], KernelEnvironment]:
    """For the argument of that name (experimental in TRL). The data set has the columns `prompt` and `column`."""
    judge = client or Client()
    return lambda: KernelEnvironment(judge, reward, column, timeout_s, fields)
