"""The options of KernelBench's existing evaluation in Inspect, as flags of the kernelbench command."""

from dataclasses import dataclass, replace

from .command import find_command

SHOTS = {"zero_shot": 0, "one_shot": 1, "few_shot": 3}
TIMING_METHODS = ("cuda_event", "do_bench", "do_bench_impl", "host_time", "outer")
BACKENDS = ("native", "cpp", "cuda", "triton", "tilelang", "cute", "thunderkittens", "hip")
LEAST_COMPARED = 5  # calls that the judge compares where nothing is measured
WARMUP_ROUNDS = 3  # of the protocol kernelbench: compared, not timed


def selection_of(splits):
    """The terms of a selection: level_1 is level1, all else is a term of `kernelbench problems list`."""
    terms = splits.split(",") if isinstance(splits, str) else [str(split) for split in splits]
    return [term.strip().replace("level_", "level", 1) if term.strip().startswith("level_") else term.strip() for term in terms if term.strip()]


def one_of(name, value, known):
    if value not in known:
        raise ValueError(f"{name} is one of {', '.join(known)}, not {value}")


def at_least(name, value, least):
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise ValueError(f"{name} is a whole number from {least}, not {value}")


@dataclass(frozen=True)
class JudgeOptions:
    """How a candidate is checked and judged."""

    command: str | None = None
    device: str = "cuda"
    backend: str = "cuda"
    precision: str = "fp32"
    protocol: str = "kernelbench"
    size: str = "standard"
    problems: str | None = None
    check_kernel: bool = True
    num_correct_trials: int | None = None
    num_perf_trials: int | None = None
    measure_performance: bool = True
    timing_method: str | None = None

    def validate(self):
        one_of("backend", self.backend, BACKENDS)
        one_of("precision", self.precision, ("fp32", "fp16", "bf16"))
        at_least("num_correct_trials", self.num_correct_trials, 1)
        at_least("num_perf_trials", self.num_perf_trials, 1)
        if self.timing_method == "nsight_python_time":
            raise ValueError("timing_method nsight_python_time does not exist here: leave timing_method out for the judge's own clock, or give cuda_event or do_bench")
        if self.timing_method is not None:
            one_of("timing_method", self.timing_method, TIMING_METHODS)
        if self.num_perf_trials is not None and not self.measure_performance:
            raise ValueError("num_perf_trials has no effect with measure_performance=false: leave one of them out")

    def where(self):
        """What `prompt`, `check` and `eval` have in common."""
        return ["--problems", self.problems] if self.problems else []

    def rules(self):
        """Of `check` and `eval`: which rules hold."""
        flags = ["--protocol", self.protocol, "--precision", self.precision]
        return flags if self.check_kernel else [*flags, "--static", "off"]

    def warmup(self):
        """How many calls are compared and not timed. Timed calls are compared too, so that only what is missing comes on top."""
        if self.num_correct_trials is None:
            return []
        if not self.measure_performance:
            return ["--warmup-rounds", str(max(self.num_correct_trials, LEAST_COMPARED))]
        missing = self.num_correct_trials - (self.num_perf_trials or 0)
        return ["--warmup-rounds", str(missing)] if missing > WARMUP_ROUNDS else []

    def flags(self):
        """Of `eval`."""
        flags = [*self.where(), *self.rules(), "--device", self.device, "--size", self.size, *self.warmup()]
        if self.backend != "native":
            flags += ["--backend", self.backend]
        if self.num_perf_trials is not None:
            flags += ["--round-checks", str(self.num_perf_trials)]
        if not self.measure_performance:
            flags += ["--measure", "false"]
        if self.timing_method is not None:
            flags += ["--timing", self.timing_method]
        return flags


def options_of(options):
    """From the keys that a log holds, or None for the defaults."""
    options = JudgeOptions(**(options or {}))
    options.validate()
    return replace(options, command=find_command(options.command))
