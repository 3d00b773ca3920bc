"""A plain question for a problem, where a trainer's data set has none of its own. `kernelbench prompt` writes richer ones (docs/reference/prompts.md)."""

from collections.abc import Iterator, Sequence
from typing import Any

from ._client import Client
from .types import Language

_FORMS = {
    "py": "Write a Python file with a class ModelNew that has the same constructor and computes the same. Answer with one block of Python, between ```python and ```.",
    "cpp": "Write a C++ file that includes <kernelbench/kernel.h> and defines int kb_forward(const kb_call* call). Answer with one block of C++, between ```cpp and ```.",
    "cu": "Write a CUDA C++ file that includes <kernelbench/kernel.h> and defines int kb_forward(const kb_call* call). Answer with one block of CUDA, between ```cuda and ```.",
}


def question(problem: dict[str, Any], language: Language = "py") -> str:
    """`problem` is what Client.problem() tells."""
    return f"{problem['title']}. This is the reference, in PyTorch:\n\n```python\n{str(problem['source']).rstrip()}\n```\n\nMake it faster. {_FORMS[language]}\n"


def rows(client: Client, problems: Sequence[str], language: Language = "py") -> Iterator[dict[str, str]]:
    """Of a data set: `problem`, its name, and `prompt`."""
    for name in problems:
        yield {"problem": name, "prompt": question(client.problem(name), language)}
