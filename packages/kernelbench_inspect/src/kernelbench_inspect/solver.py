"""Has the model write a candidate; one that cannot be judged is sent back with the complaint."""

from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver

from .candidate import Candidate, take_candidate
from .options import options_of

STORED = "kernelbench_candidate"


def stored_candidate(state: TaskState) -> Candidate | None:
    kept = state.store.get(STORED)
    return Candidate(**kept) if kept else None


@solver
def write_candidate(options: dict | None = None, max_regenerations: int = 10) -> Solver:
    judging = options_of(options)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for answer in range(max_regenerations + 1):
            state = await generate(state)
            candidate = await take_candidate(state.output.completion, judging)
            state.store.set(STORED, vars(candidate))
            if not candidate.refused or answer == max_regenerations:
                break
            complaint = f"This answer cannot be judged: {candidate.refused}\n\nAnswer again, with the whole candidate."
            state.messages.append(ChatMessageUser(content=complaint))
        state.metadata["regenerations"] = answer
        return state

    return solve
