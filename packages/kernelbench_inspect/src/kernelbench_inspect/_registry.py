"""What Inspect finds in this package."""

from .metrics import correct, fast_p
from .scorer import judge
from .solver import write_candidate
from .task import kernelbench

__all__ = ["correct", "fast_p", "judge", "kernelbench", "write_candidate"]
