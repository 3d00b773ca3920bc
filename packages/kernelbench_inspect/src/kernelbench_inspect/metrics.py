"""Metrics over judged candidates. A problem counts once, with the share of its samples that pass."""

from collections import defaultdict

from inspect_ai.scorer import Metric, SampleScore, Value, metric

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)  # those that KernelBench reports


def passes(value: dict, p: float) -> bool:
    """Correct and, for p above 0, faster than p, strictly. A speedup that is not known passes no threshold."""
    return bool(value["correct"]) and (p <= 0 or (value["speedup"] or 0) > p)


def share(scores: list[SampleScore], p: float) -> float:
    problems = defaultdict(list)
    for score in scores:
        problems[score.sample_id].append(passes(score.score.value, p))
    return sum(sum(each) / len(each) for each in problems.values()) / len(problems) if problems else 0.0


@metric(scores="unreduced")
def fast_p(p: float = 1.0) -> Metric:
    """fast_p: the share of problems solved with a speedup above p; with p = 0 that of correct ones."""

    def compute(scores: list[SampleScore]) -> Value:
        return {f"fast_{p:g}": share(scores, p)}

    return compute


@metric(scores="unreduced")
def correct() -> Metric:
    """The share of correct candidates."""

    def compute(scores: list[SampleScore]) -> Value:
        return share(scores, 0)

    return compute


def metrics_for(p: float) -> list[Metric]:
    return [correct(), *(fast_p(threshold) for threshold in sorted({*THRESHOLDS, float(p)}))]
