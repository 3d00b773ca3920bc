"""Runs one `ModelNew`. Trusted until it loads the candidate, never afterwards: nothing it reports is believed."""

import contextlib
import ctypes
import json
import linecache
import os
import sys
import threading
import time
import traceback
import types

import torch

from . import candidate_folder, extensions, first_call, ops, output_arena, runner_library, runner_spec, trees
from .problem import Arrival, is_out_of_memory, message_of, seed_generators, synchronize, zeros_like_outputs
from .runner_library import (EMPTY, EXIT, FORWARD, LACKS_EXTENSION, LOAD, LOAD_FAILED, OK, OUT_OF_MEMORY, PREPARE, TRACE, RAISED,
                             WRONG_FORM)

_MOST_ASKED = 65_000  # bytes of a description: a report holds 64 KiB
_PRECISIONS = {"fp16": torch.float16, "bf16": torch.bfloat16}


class WrongForm(Exception):
    """The outputs are not of the form that the reference's have."""


class _DeviceBytes:
    """Device memory at an address, as torch takes it."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "strides": None, "version": 3}


def view(base, form, device):
    """The tensor of this form (ops.Tensor) in the mapped segment at address `base`."""
    dtype = trees.TORCH_DTYPES[tuple(form.dtype)]
    if form.bytes == 0:
        return torch.empty(form.shape, dtype=dtype, device=device)
    if device != "cpu":
        flat = torch.as_tensor(_DeviceBytes(base + form.offset, form.bytes), device=device).view(dtype)
        return flat.as_strided(form.shape, form.strides)
    buffer = (ctypes.c_char * form.bytes).from_address(base + form.offset)
    flat = torch.frombuffer(buffer, dtype=dtype)
    return flat.as_strided(form.shape, form.strides)


def new_module(source):
    """The module that a candidate becomes, and its text. inspect finds that, as torch.jit and triton.jit need. A folder's files lie
    beside it, and it imports them."""
    module = types.ModuleType("candidate")
    sys.modules["candidate"] = module
    files = candidate_folder.unpack(source)
    if files is None:
        module.__file__ = "/tmp/candidate.py"
    else:
        module.__file__ = candidate_folder.place(files)
        sys.path.insert(0, os.path.dirname(module.__file__))
        with open(module.__file__, encoding="utf-8") as file:
            source = file.read()
    linecache.cache[module.__file__] = (len(source), None, source.splitlines(True), module.__file__)
    return module, source


def run_module(module, source):
    """Executes the candidate as its module. As from a file, a byte order mark is no part of the text."""
    try:
        code = compile(source.removeprefix("\ufeff"), module.__file__, "exec")
    except MemoryError:  # of the parser, whose own stack is small; nothing has run yet
        raise SyntaxError("it is nested too deeply for Python") from None
    exec(code, module.__dict__)


def load_class(source):
    """Imports the candidate. From here on nothing in this process is trusted."""
    module, text = new_module(source)
    run_module(module, text)
    model_class = module.__dict__.get("ModelNew")
    if model_class is None:
        raise TypeError("the candidate defines no class ModelNew")
    return model_class


def build_model(model_class, spec, seed):
    """A model under the seed of the weights, on the device and in the precision of the problem."""
    torch.manual_seed(seed)
    place = spec.form.construct_on
    with torch.device(place) if place != "cpu" else contextlib.nullcontext():
        model = trees.call(model_class, spec.form.init, [])
    if not isinstance(model, torch.nn.Module):
        return model
    return model.to(device=spec.device, dtype=_PRECISIONS.get(spec.precision))


def construct(spec, seed):
    return build_model(load_class(spec.source), spec, seed)


class Runner:
    """`arena` (output_arena.py): where outputs lie. `built`: descriptors of the finished extensions in the order of spec.extensions,
    and of what the first call compiled, if anything."""

    def __init__(self, spec, library, doorbell, segments, arena, built):
        self.spec, self.device, self.arena, self.built = spec, spec.device, arena, built
        form, (inputs, outputs, parameters) = spec.form, segments
        self.inputs, self.named = trees.unflatten(form.structure, [view(inputs, each, self.device) for each in form.inputs])
        self.outputs = [view(outputs, each, self.device) for each in form.outputs]
        self.parameters = {each.name: view(parameters, each, self.device) for each in form.parameters}
        self.output_structure = form.output_structure
        self.forms = [(t.dtype, t.shape) for t in self.outputs]
        self.mailbox = Mailbox(library, doorbell, self.forms)
        self.foreign = []
        if not form.may_alias:
            self.foreign = [((inputs + each.offset, inputs + each.offset + each.bytes), f"is input {i}, or a view of it")
                            for i, each in enumerate(form.inputs)]
        self.model_class = self.model = None
        self.arrival, self.timed = (None, False) if self.device == "cpu" else (Arrival(), spec.events)
        self.kept = {} if spec.reference else None
        self.answered, self.asking = False, threading.Lock()

    def empty(self):
        """A call that computes nothing: on a GPU outputs of the problem's form are written, on the CPU places are named that lie in the
        arena. True: it was answered."""
        if self.device == "cpu":
            return self._finish(*self._call(0, lambda *_, **__: trees.unflatten(self.output_structure, self.outputs), self.timed))
        return self._finish(*self._call(0, lambda *_, **__: zeros_like_outputs(self.output_structure, self.forms, self.device), self.timed))

    def load(self):
        """From here on the candidate's own: what was built of it, too, is not looked at before."""
        extensions.serve_finished(self.spec, self.built[:len(self.spec.extensions)], self.ask)
        if self.spec.compiled:
            first_call.adopt(self.built[-1])
        self.model_class = load_class(self.spec.source)

    def ask(self, request):
        """Ends this call by telling which extension is lacking, and with the call all that this process does: the engine builds it and
        starts another runner. Returns why it is not built, where it is not."""
        if self.answered:
            return "it was first asked for after the first answer; build it at import, in __init__ or in the first call"
        if not self.spec.may_ask:
            return "too many were first asked for in calls; build them at import or in __init__"
        text = json.dumps(request, ensure_ascii=False)
        size = len(text.encode("utf-8", "replace"))
        if size > _MOST_ASKED:
            raise extensions.NotBuilt(f"Error building extension '{request['name']}': what it is built of has {size} bytes, and what is first "
                                      f"asked for in a call at most {_MOST_ASKED}; build it at import or in __init__")
        self.asking.acquire()  # for good
        sys.stdout.flush()
        self.mailbox.write_lacking(text)
        self.mailbox.answer()
        while True:
            time.sleep(60)

    def prepare(self, seed):
        """Constructs the model. Returns whether only the values of its state differ from the reference's, and how it differs, in words."""
        if self.kept is not None and seed in self.kept:
            self.model = self.kept[seed]
            return False, ""
        self.model = build_model(self.model_class, self.spec, seed)
        if self.kept is not None:
            self.kept[seed] = self.model
            if self.spec.compiled:
                self._warm_up()
            return False, ""
        return self._compare_state()

    def _warm_up(self):
        """Calls a baseline that is compiled: it is made in the first, and CUDA graphs are recorded in the second."""
        for _ in range(3):
            inputs = [first_call.stand_in(each, self.device) for each in self.spec.form.inputs]
            trees.call(self.model, self.spec.form.structure, inputs)
        if self.device != "cpu":
            synchronize()

    def _compare_state(self):
        """A constructed state is the candidate's own. Where it is to have the reference's values, they are copied into it."""
        own = tensors_of(self.model.state_dict()) if isinstance(self.model, torch.nn.Module) else {}
        if own.keys() != self.parameters.keys() or any(own[k].shape != v.shape for k, v in self.parameters.items()):
            return False, other_state(own, self.parameters)
        different = [k for k, v in self.parameters.items() if not same_values(own[k], v)]
        if self.spec.copy_state:
            for name in different:
                own[name].copy_(self.parameters[name])
        return bool(different), f"under the same seed {listed(different)} has other values than the reference's" if different else ""

    def forward(self, seed):
        """One call. True: it was answered."""
        return self._finish(*self._call(seed, self.model, self.timed))

    def forward_unanswered(self, seed):
        """One call on a GPU that nobody times: the offsets of its outputs."""
        offsets, _ = self._call(seed, self.model, False)
        synchronize()
        return offsets

    def _call(self, seed, model, timed):
        """(offsets of the outputs, ns until all was launched), while a GPU is still at work. All here is inside the clock, and what an
        empty call does not do too is charged to the candidate."""
        start = time.perf_counter_ns()
        seed_generators(seed, self.device)
        if self.arrival:
            self.arrival.begin(timed, self.spec.waits)
        value = model(*self.inputs, **self.named)
        placed = [self.arena.place(number, tensor) for number, tensor in enumerate(self._checked(value))]
        if timed:
            self.arrival.end()
        self.arena.keep(placed)
        return [self.arena.offset(tensor) for tensor in placed], time.perf_counter_ns() - start

    def _finish(self, offsets, launched_ns):
        """Waits for the device and answers. What is to be said is said before, so that nothing of ours lies in between."""
        self.mailbox.write_fine(offsets)
        problem = self.mailbox.finish(self.arrival.events() if self.timed else (None, None), launched_ns)
        if problem:
            synchronize()  # torch says it in its own words, if it sees it too
            raise RuntimeError(problem)
        return True

    def _checked(self, value):
        """The outputs, flattened, if they are of the right form."""
        produced = []
        try:
            trees.match(self.output_structure, value, produced, self._number)
        except trees.Unlike as error:
            raise WrongForm(str(error)) from None
        if [(t.dtype, t.shape) for t in produced] != self.forms:
            raise WrongForm(f"outputs are {describe(produced)}, expected {describe(self.outputs)}")
        for tensor in produced:
            self._check_memory(tensor)
        return produced

    def _check_memory(self, tensor):
        if tensor.layout is not torch.strided or tensor.device.type != self.device:
            raise WrongForm(f"an output is {tensor.layout} on {tensor.device}, expected a dense tensor on {self.device}")
        address = tensor.data_ptr()
        for (first, end), what in self.foreign:
            if first <= address < end:
                raise WrongForm(f"an output {what}")

    def _number(self, value):
        return torch.tensor(value, device=self.device)


def tensors_of(state):
    """Without extra state, and parameters that get their form at the first call."""
    lazy = torch.nn.parameter.is_lazy
    return {name: value for name, value in state.items() if isinstance(value, torch.Tensor) and not lazy(value)}


def same_values(own, other):
    return own.shape == other.shape and torch.equal(own.to(other.dtype), other)


def listed(names, most=4):
    return ", ".join(list(names)[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def other_state(own, reference):
    """How parameters of other names or shapes differ from the reference's; "" where the values in order are the same."""
    if len(own) == len(reference) and all(map(same_values, own.values(), reference.values())):
        return ""
    def forms(state, other):
        return [f"{k}{list(v.shape)}" for k, v in state.items() if k not in other or other[k].shape != v.shape]
    return (f"its parameters {listed(forms(own, reference)) or '(none)'} are not the reference's "
            f"{listed(forms(reference, own)) or '(none)'}, and their values differ")


def describe(tensors):
    return ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in tensors) or "no tensors"


def traced(library, runner, seed, cupti):
    """A call on a GPU whose kernels the next report names: why it does not, or "", and where its outputs lie."""
    problem = library.kbr_trace_start(cupti.encode())
    offsets = runner.forward_unanswered(seed)
    problem = problem or library.kbr_trace_stop()
    return (problem or b"").decode("utf-8", "replace"), offsets


class Mailbox:
    def __init__(self, library, doorbell, forms):
        self._library, self._mailbox = library, library.kbr_mailbox(doorbell)
        self._argument = ctypes.c_uint64()
        numbers, self._offsets_at = [], []
        for dtype, shape in forms:
            numbers += [*trees.DTYPES[dtype], len(shape)]
            self._offsets_at.append(len(numbers))
            numbers += [0, *shape]
        self._forms = (ctypes.c_int64 * max(len(numbers), 1))(*numbers)
        self._outputs = len(forms)
        self._fine = None  # where the last report says that the outputs lie, if it says nothing else

    def wait(self):
        kind = self._library.kbr_wait(self._mailbox, ctypes.byref(self._argument))
        return kind, self._argument.value

    def write_fine(self, offsets=()):
        """All is well, and the outputs lie there: as a rule where they lay after the last call."""
        if offsets != self._fine:
            self.write(offsets=offsets)
            self._fine = offsets

    def write(self, status=OK, text="", offsets=(), differs=False):
        self._fine = None
        for place, offset in zip(self._offsets_at, offsets):
            self._forms[place] = offset
        data = text.encode("utf-8", "replace")
        self._library.kbr_write_report(self._mailbox, status, differs, data, len(data), self._outputs, self._forms)

    def write_lacking(self, text):
        """`text` whole: no outputs take room from it."""
        self._fine = None
        data = text.encode("utf-8", "replace")
        self._library.kbr_write_report(self._mailbox, LACKS_EXTENSION, False, data, len(data), 0, self._forms)

    def answer(self):
        self._library.kbr_answer(self._mailbox)

    def finish(self, events, launched_ns):
        """Waits for the device, answers and adds the times (src/runner/c_api.h): None, or how the device failed."""
        problem = self._library.kbr_finish(self._mailbox, *events, launched_ns)
        return problem and problem.decode("utf-8", "replace")


def open_device(library):
    """In a confined process: the driver starts threads. What most modules need at their first call is loaded here, where it costs
    nobody anything: cuBLAS and cuDNN take longer than most evaluations."""
    problem = (library.kbr_open_gpu() or b"").decode()
    if problem:
        return problem
    torch.cuda.init()
    x = torch.ones(16, 16, device="cuda")
    torch.nn.functional.conv2d(torch.mm(x, x).reshape(1, 1, 16, 16), torch.ones(1, 1, 3, 3, device="cuda"))
    torch.cuda.synchronize()
    del x
    torch.cuda.empty_cache()
    return ""


def serve(library, own, engine):
    """The worker's whole life; returns its exit code. `own`: runner_spec.Run. `engine`: a channel by which comes, once, what to run: a
    RunnerSpec with the descriptors of doorbell, inputs, outputs, parameters, the finished extensions in the order of
    spec.extensions, and what the first call compiled, if anything."""
    torch.set_num_threads(own.threads)
    torch.set_grad_enabled(False)
    on_cpu = own.device == "cpu"
    arena = output_arena.HostArena() if on_cpu else output_arena.GpuArena(library)
    problem = runner_library.confine(library, own.confinement)
    if not problem and not on_cpu:
        problem = open_device(library)
    if problem:
        sys.stderr.write(f"module runner: {problem}\n")
        return 125
    message = engine.receive()
    engine.close()
    if message is None:  # the engine is gone
        return 0
    body, fds = message
    spec = ops.decoded(runner_spec.RunnerSpec, body)
    doorbell = library.kbr_map(fds[0])
    own_outputs = spec.reference and not on_cpu  # of a trusted process (reference_session.py)
    segments = [(library.kbr_map if on_cpu else library.kbr_map_gpu)(fd) for fd in (fds[1:2] if own_outputs else fds[1:4])]
    if own_outputs:
        memory = torch.empty(spec.arena_bytes, dtype=torch.uint8, device="cuda")
        segments += [memory.data_ptr()] * 2
    runner = Runner(spec, library, doorbell, segments, arena, fds[4:])
    arena.open(segments[1], spec.arena_bytes, runner.outputs, spec.output_turns)
    runner.mailbox.write_fine()
    while (command := runner.mailbox.wait())[0] != EXIT:
        obey(library, runner, *command)
        arena.turn()  # for the next call, and not while its clock runs
    return 0


def told(error):
    """Type and first line of the message, then the end of the traceback: more than a report holds would be cut at its front."""
    first = next(filter(None, map(str.strip, message_of(error).splitlines())), "")[:2000]
    return f"{type(error).__name__}{': ' if first else ''}{first}\n{traceback.format_exc()[-20_000:]}"


def obey(library, runner, kind, argument):
    """Does what the judge's ring means, and answers."""
    mailbox, arena, answered = runner.mailbox, runner.arena, False
    try:
        if kind == FORWARD:
            answered = runner.forward(argument)
        elif kind == EMPTY and (runner.device != "cpu" or argument):
            answered = runner.empty()
        elif kind == TRACE:
            said, offsets = traced(library, runner, argument, runner.spec.profiler)
            mailbox.write(text=said, offsets=offsets)
        elif kind in (LOAD, PREPARE):
            arena.leave()
            differs, text = runner.prepare(argument) if kind == PREPARE else (runner.load(), "")
            mailbox.write(differs=bool(differs), text=text) if text else mailbox.write_fine()
    except WrongForm as error:
        mailbox.write(WRONG_FORM, text=str(error))
    except BaseException as error:  # SystemExit too, which would end this process
        status = OUT_OF_MEMORY if is_out_of_memory(error) else RAISED if kind in (FORWARD, TRACE) else LOAD_FAILED
        mailbox.write(status, text=("forward raised: " if status == RAISED else "") + told(error))
    runner.answered |= kind == FORWARD
    if kind != FORWARD:
        sys.stdout.flush()
    if not answered:
        mailbox.answer()
