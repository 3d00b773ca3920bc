"""Runs the kernelbench command. How it ended says what happened: a verdict is a result, everything else an exception."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass

from inspect_ai.util import subprocess as inspect_subprocess

ALL_CORRECT, NOT_ALL_CORRECT, USAGE = 0, 1, 2  # exit codes of kernelbench (docs/reference/cli.md); others: the engine or the machine failed


class EngineError(RuntimeError):
    """The engine or this machine failed. That says nothing about the candidate; trying again may help."""


class RequestError(ValueError):
    """What was asked for cannot be carried out."""


def find_command(command=None):
    """The path of the kernelbench command: the one given, $KERNELBENCH, or the one in PATH."""
    wanted = command or os.environ.get("KERNELBENCH") or "kernelbench"
    found = shutil.which(wanted)
    if not found:
        raise RequestError(f"there is no command {wanted}: build KernelBench, then put its bin directory into PATH, or set KERNELBENCH or -T command to its path")
    return found


@dataclass
class Ended:
    arguments: list[str]
    code: int
    out: str
    err: str

    def lines(self):
        """The lines of JSON that it printed, if it did what was asked."""
        what = f"kernelbench {self.arguments[0]}"
        said = [line for line in self.err.splitlines() if line.strip()]
        why = said[-1] if said else "it said nothing"
        if self.code == USAGE:
            raise RequestError(f"{what} refused: {why}")
        if self.code not in (ALL_CORRECT, NOT_ALL_CORRECT):
            raise EngineError(f"{what} failed with exit code {self.code}: {why}")
        try:
            return [json.loads(line) for line in self.out.splitlines() if line.strip()]
        except ValueError:
            raise EngineError(f"{what} printed no JSON: {self.out[:200]!r}") from None


def run(command, arguments):
    """Runs it while a task is made, and waits."""
    done = subprocess.run([command, *arguments], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    return Ended(arguments, done.returncode, done.stdout, done.stderr).lines()


async def run_in_sample(command, arguments):
    """The same while a sample runs, where Inspect may cancel it."""
    done = await inspect_subprocess([command, *arguments], input="", concurrency=False)
    return Ended(arguments, done.returncode, done.stdout, done.stderr).lines()
