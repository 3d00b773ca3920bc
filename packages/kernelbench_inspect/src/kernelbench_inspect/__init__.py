"""KernelBench as a task of Inspect. The kernelbench command makes the prompts and judges the candidates; docs/guide/inspect.md says how."""

from .command import EngineError, RequestError
from .metrics import correct, fast_p
from .scorer import judge
from .solver import write_candidate
from .task import kernelbench

__all__ = ["EngineError", "RequestError", "correct", "fast_p", "judge", "kernelbench", "write_candidate"]
