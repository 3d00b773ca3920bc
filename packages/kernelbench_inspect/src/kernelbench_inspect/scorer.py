"""Has the kernelbench command judge the candidate of a sample."""

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from .candidate import judge_candidate, take_candidate
from .metrics import metrics_for
from .options import options_of
from .solver import stored_candidate

KEPT = ("verdict", "reason", "speedup_interval", "no_speedup", "baseline", "baseline_us", "candidate_us", "device", "protocol", "size", "problem_sha256")


def score_of(evaluation: dict, source: str) -> Score:
    """The score of an evaluation; `kernelbench export --inspect` writes the same."""
    verdict, speedup = evaluation["verdict"], evaluation.get("speedup")
    if verdict != "correct":
        explanation = f"{verdict}: {evaluation['reason']}"
    elif speedup is None:
        explanation = f"correct, without a speedup: {evaluation.get('reason') or evaluation.get('no_speedup') or 'it was not measured'}"
    else:
        explanation = f"correct: {speedup:.3g} times as fast as {evaluation['baseline']}"
        if evaluation.get("speedup_interval"):
            explanation += " [{:.3g}, {:.3g}]".format(*evaluation["speedup_interval"])
    metadata = {"evaluation": evaluation.get("id"), **{key: evaluation.get(key) for key in KEPT}}
    metadata["device_name"] = (evaluation.get("device_info") or {}).get("name")
    if evaluation.get("mismatch"):
        metadata["mismatch"] = evaluation["mismatch"]
    compiler_output = (evaluation.get("evidence") or {}).get("compiler_output")
    if compiler_output:
        metadata["compiler_output"] = compiler_output
    metadata["notes"] = [note["text"] for note in evaluation.get("notes") or []]
    value = {"speedup": speedup if verdict == "correct" else 0, "correct": int(verdict == "correct")}
    return Score(value=value, answer=source or None, explanation=explanation, metadata=metadata)


@scorer(metrics=metrics_for(1.0))
def judge(options: dict | None = None) -> Scorer:
    """`options` are keys of JudgeOptions; what is left out has its default."""
    judging = options_of(options)

    async def score(state: TaskState, target: Target) -> Score:
        candidate = stored_candidate(state) or await take_candidate(state.output.completion, judging)
        if candidate.refused:
            return score_of({"verdict": "static_rejected", "reason": candidate.refused}, candidate.source)
        return score_of(await judge_candidate(str(state.sample_id), candidate, judging), candidate.source)

    return score
