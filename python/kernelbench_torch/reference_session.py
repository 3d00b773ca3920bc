"""The reference in a process of its own, called as a candidate is: what a candidate's time is divided by.

Both sides then meet the same: a process that is stopped between its calls, caches that others have used, a change of contexts on a GPU,
memory from an arena. What still differs between two such processes is all that an interval has to allow for. The process is trusted: it
runs the problem's own text, as one of the baselines (_KINDS). On a GPU it shares the inputs with the candidate's runner, and has been
checked to find them unchanged; its outputs are its own memory there, for who holds one exported memory can reach all. They are not looked
at: the expected ones come from the device process, by eager, whatever is timed.
"""

import ctypes
import dataclasses
import importlib.metadata
import importlib.util
import os
import pathlib
import re

from . import ops
from .device_library import PLACED_BEFORE, PLACED_LATE, parsed, pointers
from .problem import ProblemError
from .runner_library import EMPTY, FORWARD, OUT_OF_MEMORY

_ATTEMPTS = 10  # where a busy machine had not quite stopped the process, or others had work on the device
_COMPILED = "def ModelNew(*arguments, **named):\n    return torch.compile({model}(*arguments, **named), mode={mode!r})\n"
_KINDS = {
    "eager": "ModelNew = {model}\n",  # as PyTorch ships it: on a GPU, convolutions in TF32
    "eager-fp32": "torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False\nModelNew = {model}\n",
}


def source(path, size, kind, model, text=None):
    """The problem's text as a module candidate: its class `model` at one of its SIZES, as load_module() makes it. `text`: of none that
    lies at `path`."""
    if text is None:
        text = importlib.util.decode_source(pathlib.Path(path).read_bytes())  # heeds the file's own declaration of its encoding
    constants = "" if size == "standard" else f"globals().update(SIZES[{size!r}])\n"
    if kind == "library":
        return f"{text}\n\n{constants}{_library(pathlib.Path(path))}\n\n{_KINDS['eager'].format(model=model)}"
    timed = _KINDS.get(kind, _COMPILED).format(model=model, mode=kind.removeprefix("compile-"))
    return f"{text}\n\n{constants}import torch\n{timed}"


def _library(problem):
    """What puts a library's functions in place of the problem's own (problems/v3/libraries), and on which version it was found. It names
    its package and a prefix of the version."""
    path = problem.parent.parent / "libraries" / problem.name
    if not path.is_file():
        raise ProblemError("it names no library as its baseline (docs/reference/baselines.md says which do); choose another baseline, such as eager")
    text = path.read_text()
    told = {name: value for name, value in re.findall(r'^(PACKAGE|VERSION) = "(.*)"$', text, re.M)}
    package, version = told["PACKAGE"], told["VERSION"]
    try:
        found = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise ProblemError(f"its baseline library is {package} {version}, which this Python lacks: python -m pip install "
                           f"'{package}=={version}.*', or choose another baseline, such as eager") from None
    if not f"{found}.".startswith(f"{version}."):
        raise ProblemError(f"its baseline library is {package} {version}, and this Python has {found}: python -m pip install "
                           f"'{package}=={version}.*', or choose another baseline, such as eager")
    return f"# {package} {found}\n{text}"


class ReferenceSession:
    def __init__(self, lib, device, layout, arena):
        """`arena`: bytes of outputs that this process shares with it, as with a candidate; 0: it has outputs of its own."""
        self.lib = lib
        self.session = lib.kbd_session_new(device, ops.encoded(layout))
        self.fds = (ctypes.c_int * 4)()
        shared = self.session and (lib.kbd_session_share(self.session, None, None, arena, self.fds) if arena else
                                   lib.kbd_session_share_inputs(self.session, self.fds))
        if not shared:
            why = lib.kbd_error().decode()
            self.free()
            raise ProblemError(why)
        if arena:
            lib.kbd_session_populate(self.session)

    def attach(self, pid, pidfd):
        self.lib.kbd_session_attach(self.session, pid, os.dup(pidfd))

    def present(self, inputs, there):
        """`there`: the candidate's call has found them in the memory that both share, and left them as they were."""
        self.lib.kbd_present(self.session, pointers(inputs), PLACED_BEFORE if there else PLACED_LATE)

    def call(self, kind, argument, timeout_us, clocked, prepare):
        """As kbd_call answers; `prepare` goes before each attempt."""
        gap_us = 0
        for _ in range(_ATTEMPTS):
            prepare()
            answer = parsed(self.lib.kbd_call(self.session, kind, argument, int(timeout_us * 1000), clocked))
            answer["gap_us"] = gap_us = max(gap_us, answer["gap_us"])
            if answer["end"] not in ("ran_frozen", "too_early"):
                break
        if answer["end"] == "done" and answer["report"]["status"] == OUT_OF_MEMORY:
            raise MemoryError(answer["report"]["text"])
        return answer

    def free(self):
        if self.session:
            self.lib.kbd_session_free(self.session)
        self.session = None


class Operations:
    """Those of the device process (device_host.py) that are about the reference's own process."""

    def reference_source(self, request):
        """What the reference's process is to run."""
        text = source(self.problem.path, request.size, request.kind, getattr(self.problem.module, "reference_name", "Model"),
                      self.problem.text)
        return ops.ReferenceSource.Reply(source=text)

    def share_reference(self, request):
        """Memory for the reference in a process of its own (reference_session.py), where there is room for one."""
        self.end_reference()
        arena, turns = self.reference_arena() if self.kind != "cpu" else self.host_arena()
        if not arena:
            return ops.ShareReference.Reply(room=False)
        layout = dataclasses.replace(self.layout, parameters=[], parameters_bytes=0, holds=request.holds)
        self.beside = ReferenceSession(self.lib, self.device, layout, arena if self.kind == "cpu" else 0)
        return ops.ShareReference.Reply(room=True, arena_bytes=arena, output_turns=turns), list(self.beside.fds)

    def reference_arena(self):
        """Bytes for its outputs and temporaries, and in how many places those lie in turn: as for a candidate if there is room for that
        beside it, else without an output that is kept, for it keeps none; 0 bytes: there is no room."""
        plan, free, (candidates, _) = self.problem.plan, self.problem.free_now(), self.problem.arena
        arenas = [plan.arena(free, kept) for kept in (1, 0)]
        return next((arena for arena in arenas if plan.beside(candidates, arena) < free), 0), plan.turns(free)

    def attach_reference(self, request, fds):
        self.beside.attach(request.pid, fds[0])
        return ops.Nothing()

    def end_reference(self, _=None):
        if self.beside:
            self.beside.free()
        self.beside = None
        return ops.Nothing()

    def call_reference(self, request):
        """A call that is no round's, as kbd_call answers."""
        empty = request.kind == EMPTY
        return self.beside.call(request.kind, request.argument, request.timeout_us, self.clocked(request),
                                lambda: self.lib.kbd_flush(self.device) if empty else None)

    def baseline(self, request):
        """The reference, called as the candidate was, on the same inputs."""
        there = self.shares_inputs() and not request.alone and self.problem.keeps_inputs

        def present():
            if request.alone:  # in a round there is a candidate's call, with all that goes before and after it
                self.lib.kbd_flush_last_level(self.device)
            self.beside.present(self.inputs, there)
        answer = self.beside.call(FORWARD, self.rng_seed, request.timeout_us, True, present)
        return ops.Baseline.Reply(us=answer["us"], launch_us=answer["launched_us"], event_us=answer["elapsed_us"], gap_us=answer["gap_us"],
                                  waited_us=answer["waited_us"], clock_mhz=self.gpu_clocks.sm_mhz(),
                                  end=answer["end"], report=answer["report"], malformed=answer["malformed"])

    def shares_inputs(self):
        """On a GPU both sides map the same inputs, for its memory may not hold them twice."""
        return self.beside is not None and self.kind != "cpu"
