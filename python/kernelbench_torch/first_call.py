"""What a module compiles at its first call (Triton, TileLang, torch.compile): done once, before any runner, in a process that may start
compilers and is confined as they are (main). What it leaves in their caches is an archive that runners unpack (adopt).

    python -m kernelbench_torch.first_call SPEC LIBRARY ARCHIVE BEGUN

SPEC is a JSON file (runner_spec.SpecFile). BEGUN is written to before anything of the candidate's runs. Compilers also ask
programs on every start (`g++ --version`, `ptxas --version`, `ldconfig -p`; does a small library load?). A runner starts no
programs, so the answers travel with the archive. Everything here is the candidate's own: it runs and unpacks inside.
"""

import fcntl
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import traceback

import torch

from . import extensions, module_runner, ops, runner_library, runner_spec, trees
from .problem import seed_generators, settle_math

_ANSWERS = "answers.json"
_LONGEST_BESIDE_S = 120  # to compile beside others; most take less than half of it


def _directory():
    """Where compilers keep what they make. The same place each time, for their keys hold paths; but without namespaces each process
    has another directory for what is temporary."""
    return os.path.join(os.environ["TMPDIR"], "compiled")


def use_caches():
    directory = _directory()
    os.makedirs(directory, exist_ok=True)
    os.environ.update(TRITON_CACHE_DIR=f"{directory}/triton", TORCHINDUCTOR_CACHE_DIR=f"{directory}/inductor",
                      TILELANG_CACHE_DIR=f"{directory}/tilelang")
    return directory


# What inputs a call may meet, of which each may take a module to another branch of its code.
_FORMS = (lambda x: x.uniform_(), lambda x: x.normal_(), lambda x: x.normal_().mul_(100))


def stand_in(like, device, form=_FORMS[0]):
    """A tensor of the form of an input (ops.Tensor). Integers are 0, which is in range as an index."""
    dtype = trees.TORCH_DTYPES[tuple(like.dtype)]
    tensor = torch.zeros(like.bytes // dtype.itemsize, dtype=dtype, device=device)
    if dtype.is_floating_point:
        tensor = form(tensor if dtype.itemsize > 1 else tensor.float()).to(dtype)  # nothing is drawn in a byte
    return tensor.as_strided(like.shape, like.strides)


def _question(command, options):
    """What is asked, wherever the caches are: a command that is run to its end, and the form of its answer."""
    form = {name: options.get(name) for name in ("stdout", "stderr", "text", "universal_newlines", "encoding", "capture_output")}
    return json.dumps([command, form], default=str).replace(_directory(), "$compiled")


def _packed(said):
    """What a program said (bytes, text or nothing) as JSON holds it."""
    return [said.decode("latin-1"), False] if isinstance(said, bytes) else [said, True]


def _unpacked(said, is_text):
    return said if is_text else said.encode("latin-1")


def _record_answers(answers):
    run = subprocess.run

    def recording(command, *arguments, check=False, **options):
        try:
            done = run(command, *arguments, **options)
        except OSError as error:  # there is no such program, or it may not be started
            answers[_question(command, options)] = error.errno
            raise
        answers[_question(command, options)] = [done.returncode, _packed(done.stdout), _packed(done.stderr)]
        if check:
            done.check_returncode()
        return done
    subprocess.run = recording


def _give_answers(answers):
    run = subprocess.run

    def answered(command, *arguments, check=False, **options):
        known = answers.get(_question(command, options))
        if known is None:
            return run(command, *arguments, check=check, **options)
        if isinstance(known, int):
            raise OSError(known, os.strerror(known), command)
        done = subprocess.CompletedProcess(command, known[0], _unpacked(*known[1]), _unpacked(*known[2]))
        if check:
            done.check_returncode()
        return done
    subprocess.run = answered


def _call(spec):
    model = module_runner.construct(spec, 1)
    for form in _FORMS:
        inputs = [stand_in(each, spec.device, form) for each in spec.form.inputs]
        seed_generators(1, spec.device)
        trees.call(model, spec.form.structure, inputs)
        if spec.device != "cpu":
            torch.cuda.synchronize()


def begin(spec, what):
    """Settles how the process computes, opens its device and says that it has begun."""
    library = runner_library.load(sys.argv[2])
    torch.set_num_threads(spec.threads)
    torch.set_grad_enabled(False)
    settle_math()
    if spec.device != "cpu":
        problem = module_runner.open_device(library)
        if problem:
            sys.exit(f"{what}: {problem}")
    with open(sys.argv[4], "w") as file:
        file.write("begun")


def _give_up(*_):
    os.write(2, f"it is not compiled within {_LONGEST_BESIDE_S} s beside others\n".encode())
    os._exit(1)


def _compile_beside(place, device):
    """Of a baseline that is compiled beside others. Inductor chooses many kernels by what they take. `place` is locked by each of the others,
    too: shared, but alone by one that times a kernel. All others then have ended or wait for the same, and neither cores nor the device are
    in use: each chooses as it would by itself. Since they wait for one that compiles for long, that one ends, to be compiled by itself."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, _LONGEST_BESIDE_S)
    if device == "cpu":  # nothing is timed there
        return
    from torch._inductor.runtime.benchmarking import benchmarker
    measure = benchmarker.benchmark_gpu

    def alone(*arguments, **named):
        torch.cuda.synchronize()
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)  # waiting is not compiling
        fcntl.flock(place, fcntl.LOCK_UN)  # two that waited with it would wait for each other
        fcntl.flock(place, fcntl.LOCK_EX)
        try:
            return measure(*arguments, **named)
        finally:
            fcntl.flock(place, fcntl.LOCK_SH)
            signal.setitimer(signal.ITIMER_REAL, left)
    benchmarker.benchmark_gpu = alone


def main():
    """A candidate that raises is met again by the runner, and judged there."""
    with open(sys.argv[1]) as file:
        told = ops.decoded(runner_spec.SpecFile, json.load(file))
    spec = told.spec
    begin(spec, "first call")
    extensions.serve_finished(spec, [os.open(path, os.O_RDONLY) for path in told.extensions])
    directory, answers = use_caches(), {}
    _record_answers(answers)
    place = os.environ.pop("KERNELBENCH_BESIDE", "")
    if place:
        _compile_beside(int(place), spec.device)
    try:
        _call(spec)
    except BaseException:
        traceback.print_exc()
        if spec.reference:  # nobody meets it again
            sys.exit(1)
    with open(os.path.join(directory, _ANSWERS), "w") as file:
        json.dump({"made_in": directory, "answers": answers}, file)
    with tarfile.open(sys.argv[3], "w") as archive:
        archive.add(directory, arcname=".")


def adopt(fd):
    """In a confined runner: what main() left, where the compilers look for it."""
    directory = use_caches()
    with open(fd, "rb") as file, tarfile.open(fileobj=io.BytesIO(file.read())) as archive:
        archive.extractall(directory, filter="data")
    with open(os.path.join(directory, _ANSWERS)) as file:
        told = json.load(file)
    # Triton notes the files that belong together by their whole paths.
    for group in pathlib.Path(directory).rglob("__grp__*.json"):
        group.write_text(group.read_text().replace(told["made_in"], directory))
    _give_answers(told["answers"])


if __name__ == "__main__":
    main()
