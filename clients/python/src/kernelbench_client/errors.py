"""Why a request has no answer. A wrong kernel is no error: its evaluation has a verdict."""

import json
from typing import Literal

Fault = Literal["candidate", "caller", "machine", "engine"]


class KernelbenchError(Exception):
    """`fault` says whose doing it is; `retryable`, that the same request may be served later; `detail`, what to do."""

    def __init__(self, detail: str, *, fault: str, retryable: bool) -> None:
        super().__init__(detail)
        self.detail, self.fault, self.retryable = detail, fault, retryable

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, self.__dict__)


class Refused(KernelbenchError):
    """The service refused the request, with an HTTP status of 400 or above."""

    def __init__(self, detail: str, *, fault: str, retryable: bool, status: int, retry_after_s: float | None = None) -> None:
        super().__init__(detail, fault=fault, retryable=retryable)
        self.status, self.retry_after_s = status, retry_after_s


class Unreachable(KernelbenchError):
    """The service did not answer, however often it was asked."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, fault="machine", retryable=True)


class UnexpectedAnswer(KernelbenchError):
    """What answered is no KernelBench service, or of another version: nothing in its answer was believed."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, fault="engine", retryable=False)


def _restored(kind: type[KernelbenchError], arguments: tuple[str], members: dict[str, object]) -> KernelbenchError:
    error = kind.__new__(kind)
    Exception.__init__(error, *arguments)
    error.__dict__.update(members)
    return error


def refusal(status: int, headers: dict[str, str], body: bytes) -> Refused:
    """Of an answer with such a status. A proxy in between refuses without saying whose fault it is."""
    by_proxy = status in (429, 502, 503, 504)
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    detail = problem.get("detail") or f"HTTP status {status}: {body[:200].decode(errors='replace').strip()}"
    fault = problem.get("fault") or ("machine" if by_proxy else "caller" if status < 500 else "engine")
    retryable = problem.get("retryable", by_proxy)
    try:
        retry_after_s = max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        retry_after_s = None
    return Refused(str(detail), fault=str(fault), retryable=retryable is True, status=status, retry_after_s=retry_after_s)
