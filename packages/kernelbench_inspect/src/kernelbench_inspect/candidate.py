"""From an answer to a candidate, and from a candidate to its evaluation."""

import asyncio
import pathlib
import tempfile
from dataclasses import dataclass

from inspect_ai.util import concurrency

from .command import EngineError, run_in_sample
from .options import JudgeOptions

ATTEMPTS = 2  # at one evaluation, before the engine's failure is the sample's error


@dataclass
class Candidate:
    """`refused` says why it cannot be judged: there is no code in the answer, or static analysis refuses it."""

    source: str
    extension: str
    refused: str


async def take_candidate(answer: str, options: JudgeOptions) -> Candidate:
    """The candidate in a model's answer, as `kernelbench generate` takes it (docs/reference/prompts.md)."""
    with tempfile.TemporaryDirectory(prefix="kernelbench-inspect.") as directory:
        path = pathlib.Path(directory) / "answer.txt"
        path.write_text(answer, encoding="utf-8", errors="replace")
        arguments = ["check", "--answer", str(path), "--backend", options.backend, "--device", options.device, *options.rules(), "--json"]
        (line,) = await run_in_sample(options.command, arguments)
    refused = line["rejection"]
    errors = [finding for finding in line["findings"] if finding["severity"] == "error"]
    if not refused and errors:
        refused = f"static analysis refuses it: {errors[0]['rule']}, line {errors[0]['line']}: {errors[0]['reason']}"
    return Candidate(line["source"], line["extension"], refused)


async def judge_candidate(problem: str, candidate: Candidate, options: JudgeOptions) -> dict:
    """Its evaluation (docs/reference/evaluation.md). EngineError if there is no verdict, RequestError if there cannot be one."""
    for attempt in range(ATTEMPTS):
        try:
            return await _judge_once(problem, candidate, options)
        except EngineError:
            if attempt + 1 == ATTEMPTS:
                raise
            await asyncio.sleep(1)
    raise AssertionError


async def _judge_once(problem, candidate, options):
    with tempfile.TemporaryDirectory(prefix="kernelbench-inspect.") as directory:
        path = pathlib.Path(directory) / f"candidate{candidate.extension}"
        path.write_text(candidate.source, encoding="utf-8")
        # Two evaluations on one device would disturb each other's times.
        async with concurrency(f"kernelbench {options.device}", 1):
            lines = await run_in_sample(options.command, ["eval", problem, str(path), *options.flags(), "--json", "--quiet"])
    if len(lines) != 1 or lines[0].get("verdict") in (None, "not_run"):
        raise EngineError("kernelbench eval gave no verdict")
    return lines[0]
