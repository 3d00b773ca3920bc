"""The task: problems of KernelBench, prompts and verdicts of the kernelbench command."""

import pathlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig

from .command import find_command, run
from .metrics import metrics_for
from .options import SHOTS, JudgeOptions, at_least, one_of, selection_of
from .scorer import judge
from .solver import write_candidate


def without_equivalent(build_dir, verbose):
    if build_dir is not None:
        raise ValueError("build_dir has no equivalent: builds are kept below KERNELBENCH_CACHE, so set that variable instead")
    if verbose:
        raise ValueError("verbose has no equivalent: `kernelbench show ID` tells all of an evaluation, whose id is in the score's metadata")


def prompt_flags(options, option, include_hardware, gpu_name):
    one_of("option", option, tuple(SHOTS))
    if include_hardware and not gpu_name:
        raise ValueError("include_hardware needs gpu_name: a GPU such as H100, or auto for the device that is here, which takes some seconds a problem")
    if gpu_name and not include_hardware:
        raise ValueError("gpu_name has no effect without include_hardware=true")
    flags = [*options.where(), "--backend", options.backend, "--device", options.device, "--size", options.size]
    flags += ["--shots", str(SHOTS[option]), "--precision", options.precision]
    return [*flags, "--hardware", gpu_name] if include_hardware else flags


def check_flags(problem, options):
    """Has `eval` refuse what it cannot do before a model is asked: an empty candidate gets its verdict without a device."""
    with tempfile.TemporaryDirectory(prefix="kernelbench-inspect.") as directory:
        path = pathlib.Path(directory) / "empty.py"
        path.touch()
        run(options.command, ["eval", problem, str(path), *options.flags(), "--json", "--quiet", "--no-store"])


def make_samples(splits, options, flags):
    problems = run(options.command, ["problems", "list", *selection_of(splits), *options.where(), "--scored", "--json"])
    if not problems:
        raise ValueError(f"splits={splits} selects no problem that counts for scores")
    check_flags(problems[0]["name"], options)

    def sample(problem):
        (prompt,) = run(options.command, ["prompt", problem["name"], *flags, "--json"])
        messages = [ChatMessageSystem(content=prompt["system"]), ChatMessageUser(content=prompt["user"])]
        kept = {key: problem.get(key) for key in ("title", "deck", "level", "family")}
        return Sample(id=problem["name"], input=messages, target="", metadata=kept)

    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(sample, problems))


@task
def kernelbench(
    splits: str | list[str] = "level_1",
    option: str = "one_shot",
    precision: str = "fp32",
    include_hardware: bool = False,
    gpu_name: str | None = None,
    backend: str = "cuda",
    check_kernel: bool = True,
    max_regenerations: int = 10,
    num_correct_trials: int | None = None,
    num_perf_trials: int | None = None,
    measure_performance: bool = True,
    timing_method: str | None = None,
    p: float = 1.0,
    temperature: float = 0.0,
    device: str | None = None,
    protocol: str = "kernelbench",
    size: str = "standard",
    problems: str | None = None,
    command: str | None = None,
    build_dir: str | None = None,
    verbose: bool = False,
) -> Task:
    """Has a model write a kernel for each problem and judges it. docs/guide/inspect.md says what each option does."""
    without_equivalent(build_dir, verbose)
    at_least("max_regenerations", max_regenerations, 0)
    device = device or ("cpu" if backend in ("native", "cpp") else "cuda")
    options = JudgeOptions(
        command=find_command(command), device=device, backend=backend, precision=precision, protocol=protocol, size=size, problems=problems, check_kernel=check_kernel,
        num_correct_trials=num_correct_trials, num_perf_trials=num_perf_trials, measure_performance=measure_performance, timing_method=timing_method)
    options.validate()
    samples = make_samples(splits, options, prompt_flags(options, option, include_hardware, gpu_name))
    kept = asdict(options)  # which the log holds
    return Task(
        dataset=MemoryDataset(samples, name="KernelBench"),
        solver=write_candidate(kept, max_regenerations if check_kernel else 0),
        scorer=judge(kept),
        metrics=metrics_for(p),
        config=GenerateConfig(temperature=temperature),
        continue_on_fail=True,  # samples at which the engine failed make the log an error, which `inspect eval-retry` mends
    )
