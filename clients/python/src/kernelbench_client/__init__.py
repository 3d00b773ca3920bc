"""Verdicts and rewards of a KernelBench service (docs/guide/training.md).

    from kernelbench_client import Candidate, Client

    client = Client()  # the service of this machine; or Client("http://judge:8080", token)
    print(client.evaluate(Candidate("1/19", source=text, size="small", protocol="quick")).verdict)
"""

from ._async_client import AsyncClient
from ._client import Client
from .errors import KernelbenchError, Refused, UnexpectedAnswer, Unreachable
from .types import Batch, Candidate, Evaluation, Event, Rewarded, summary

__all__ = [
    "AsyncClient",
    "Batch",
    "Candidate",
    "Client",
    "Evaluation",
    "Event",
    "KernelbenchError",
    "Refused",
    "Rewarded",
    "UnexpectedAnswer",
    "Unreachable",
    "summary",
]
