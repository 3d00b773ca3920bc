"""What a module compiles at its first call (Triton, torch.compile): done once, before any runner, in a process that may start
compilers and is confined otherwise (prepare). What it leaves in their caches is an archive that runners unpack (adopt).

Compilers also ask programs for their versions on every start (`ptxas --version`, `ldconfig -p`). A runner starts no
programs, so the answers travel with the archive. Everything here is the candidate's own: it runs and unpacks inside.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import traceback

import torch

from . import module_runner, runner_library, trees
from .problem import seed_generators

_ANSWERS = "answers.json"


def _use_caches():
    """Where compilers keep what they make. The same place each time: their keys hold paths."""
    directory = os.path.join(os.environ["TMPDIR"], "compiled")
    os.makedirs(directory, exist_ok=True)
    os.environ.update(TRITON_CACHE_DIR=f"{directory}/triton", TORCHINDUCTOR_CACHE_DIR=f"{directory}/inductor",
                      TORCHINDUCTOR_COMPILE_THREADS="1")
    return directory


def stand_in(spec, device):
    """A tensor of the form of an input. Integers are 0, which is in range as an index."""
    dtype = trees.TORCH_DTYPES[tuple(spec["dtype"])]
    tensor = torch.zeros(spec["bytes"] // dtype.itemsize, dtype=dtype, device=device)
    if dtype.is_floating_point:
        tensor.normal_()
    return tensor.as_strided(spec["shape"], spec["strides"])


def _record_answers(answers):
    ask = subprocess.check_output

    def recording(command, *arguments, **options):
        answer = ask(command, *arguments, **options)
        text = isinstance(answer, str)
        answers[json.dumps(command)] = [answer if text else answer.decode("latin-1"), text]
        return answer
    subprocess.check_output = recording


def prepare(library, spec, result_fd):
    """In a worker. Writes the archive to `result_fd`; a candidate that raises is met again by the runner, and judged there."""
    problem = runner_library.confine(library, spec) or (library.kbr_open_gpu() or b"").decode()
    if problem:
        sys.stderr.write(f"first call: {problem}\n")
        return 125
    directory = _use_caches()
    torch.set_num_threads(spec["threads"])
    torch.cuda.init()
    answers, device = {}, spec["device"]
    _record_answers(answers)
    try:
        model = module_runner.construct(spec, 1)
        inputs = trees.unflatten(spec["structure"], [stand_in(s, device) for s in spec["inputs"]])
        seed_generators(1, device)
        model(*inputs)
        torch.cuda.synchronize()
    except BaseException:
        traceback.print_exc()
    with open(os.path.join(directory, _ANSWERS), "w") as file:
        json.dump(answers, file)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(directory, arcname=".")
    data = packed.getvalue()
    while data:
        data = data[os.write(result_fd, data):]
    return 0


def adopt(fd):
    """In a confined runner: what prepare() left, where the compilers look for it."""
    directory = _use_caches()
    with open(fd, "rb") as file, tarfile.open(fileobj=io.BytesIO(file.read())) as archive:
        archive.extractall(directory, filter="data")
    with open(os.path.join(directory, _ANSWERS)) as file:
        answers = json.load(file)
    ask = subprocess.check_output

    def answered(command, *arguments, **options):
        known = answers.get(json.dumps(command) if isinstance(command, (list, str)) else "")
        if known is None:
            return ask(command, *arguments, **options)
        return known[0] if known[1] else known[0].encode("latin-1")
    subprocess.check_output = answered
