"""The device process: holds the reference, private inputs and expected outputs, and runs the trusted steps of a round.

Started by the engine as `python -m kernelbench_torch.device_host SOCKET_FD LIBRARY DEVICE THREADS`. Serves one engine over
one socket (length-prefixed JSON, see src/wire/channel.h) until it closes. Trusted: it never loads candidate code and never
believes a runner. The problem of a service's client is executed in one that was forked from a zygote and has confined itself
before (serve_confined()): that is trusted no more from then on.
"""

import ctypes
import dataclasses
import gc
import json
import math
import mmap
import os
import platform
import resource
import signal
import sys
import traceback

import torch

from . import device_library, error_budgets, ops, reference_session, runner_library, trees
from .audit import IMPOSTORS, Audit
from .channel import Channel
from .clocks import GpuClocks
from .device_facts import NoDevice, build_facts, find_cupti, multiplication_rates, start_cuda
from .device_library import PLACED_LATE, PLACED_NOW, parsed, pointers
from .output_arena import HostArena
from .problem import Problem, ProblemError, available_bytes, is_out_of_memory, settle_math
from .runner_library import EMPTY, FORWARD, LOAD


def narrowly_wrong(outputs, budgets):
    """Whether so little is wrong that the budgets may be: all is written and finite, and most blocks are within theirs."""
    wrong = [(output, budget) for output, budget in zip(outputs, budgets) if not output["ok"]]
    return bool(wrong) and all(budget and not output["unwritten"] and not output["non_finite"]
                               and output["blocks_wrong"] <= max(4, output["blocks"] // 2) for output, budget in wrong)


_ARENA_SHARE = 4  # a host's free memory over what is tried out in an arena

METHODS = {"problem": "load_problem", "session": "begin_session", "weights": "set_weights"}


class Host(reference_session.Operations, error_budgets.Operations):
    """The operations (ops.py), one method each. One that is answered with descriptors returns them behind its reply."""

    def __init__(self, library, kind, threads):
        settle_math()
        self.lib, self.libc, self.kind = device_library.load(library), ctypes.CDLL(None), kind
        if kind != "cpu":
            start_cuda()
        self.device = self.lib.kbd_open(kind.encode(), threads)
        if not self.device:
            raise NoDevice(f"device {kind} cannot be used: {self.lib.kbd_error().decode()}")
        self.problems, self.problem, self.session, self.ended, self.beside = {}, None, None, [], None
        self.shared = self.populated = False
        self.weights, self.rng_seed, self.others_before = 0, 0, 0
        self.gpu_clocks = GpuClocks(kind)
        self.inputs, self.expected = [], []
        self.arena = self.arena_memory = None
        if kind == "cpu":
            self.open_arena()

    def open_arena(self):
        """Where it is found out how much of an arena a problem's reference needs (output_arena.py)."""
        size = available_bytes() // _ARENA_SHARE
        try:
            self.arena_memory = mmap.mmap(-1, size)  # of which only what is touched is there
        except OSError:
            return  # a machine that promises no memory which it may not have: outputs are copied
        self.arena = HostArena()
        self.arena.open(ctypes.addressof(ctypes.c_char.from_buffer(self.arena_memory)), size, [], 0)
        self.arena.leave()

    def reach(self, problem):
        """How many bytes of an arena one call needs."""
        structure, tensors = problem.draw()
        self.arena.serve(problem.output_examples)
        self.arena.enter()
        try:
            problem.forward(0, structure, tensors, 1)
        finally:
            self.arena.leave()
        self.arena_memory.madvise(mmap.MADV_REMOVE)
        return self.arena.reach()

    def perform(self, message, fds):
        """(reply, descriptors) of one operation."""
        name, request = ops.request(message)
        method = getattr(self, METHODS.get(name, name))
        reply = method(request, fds) if fds else method(request)
        body, shared = reply if isinstance(reply, tuple) else (reply, [])
        return body, shared

    def hello(self, _):
        profiler = "" if self.kind == "cpu" else find_cupti()
        return ops.Hello.Reply(**parsed(self.lib.kbd_info(self.device)), rates=multiplication_rates(self.kind), torch=torch.__version__,
                               python=platform.python_version(), build=build_facts(), profiler=profiler)

    def load_problem(self, request):
        key = json.dumps([request.path, request.sha256, request.size, request.precision, request.weight_seeds, request.memory_bytes])
        self.end_session()  # of an evaluation that ended in an error
        fresh = key not in self.problems
        if fresh:
            # One problem at a time: its tensors may be large, and nothing may refer to them any more.
            self.free_sessions()
            self.end_reference()
            self.problems.clear()
            self.problem = None
            gc.collect()
            self.release_memory()
            problem = Problem(request.path, request.size, request.precision, request.weight_seeds,
                              lambda *tensor: self.lib.kbd_fill_uniform(self.device, *tensor), self.kind,
                              request.memory_bytes, request.figures, request.text)
            problem.budgets, problem.impostors, problem.arena = {}, {}, None
            problem.reach = self.reach(problem) if self.arena else 0
            self.problems[key] = problem
            self.release_memory()
        self.problem = problem = self.problems[key]
        names, parameters = problem.parameters(0)
        inputs, inputs_bytes = trees.layout(problem.input_examples)
        outputs, outputs_bytes = trees.layout(problem.output_examples)
        params, params_bytes = trees.layout(parameters, names)
        init_tensors = []
        init = trees.flatten(problem.init, init_tensors, "get_init_inputs()")
        if init_tensors:
            raise ProblemError(f"{request.path}: get_init_inputs() returns tensors; numbers, strings and lists are supported")
        self.layout = ops.Layout(inputs=inputs, outputs=outputs, parameters=params, inputs_bytes=inputs_bytes,
                                 outputs_bytes=outputs_bytes, parameters_bytes=params_bytes)
        form = ops.ProblemForm(inputs=inputs, outputs=outputs, parameters=params, structure=problem.structure,
                               output_structure=problem.output_structure, init=init, scalars=trees.numbers(problem.structure),
                               init_scalars=trees.numbers(init), may_alias=problem.may_alias, construct_on=problem.construct_on)
        return ops.LoadProblem.Reply(sha256=request.sha256, form=form, fresh=fresh, roomy=self.has_room(), needs_rng=problem.needs_rng,
                                     weight_seeds=problem.seeds, distributions=problem.distributions, notes=problem.notes)

    def has_room(self):
        """Whether a second runner may wait on the device, or die there: on a GPU that takes half a gigabyte, or more with what it loads."""
        plan = self.problem.plan
        return self.kind == "cpu" or available_bytes(self.kind) > max(torch.cuda.mem_get_info()[1] // 2, plan.least() + plan.allowance())

    def impostors(self, request):
        """What would be judged correct, on all of `distributions`, though it is an answer without the work; once for a problem."""
        key, passing = json.dumps([request.distributions, request.tolerance]), self.problem.impostors
        if key not in passing:
            self.free_sessions()
            audit = Audit(self.problem, self._judge(request.tolerance), request.distributions)
            try:
                passing[key] = [IMPOSTORS[what] for what in audit.passing_impostors()]
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                passing[key] = []  # two draws do not fit at a time: then nobody knows
            self.release_memory()
        return ops.Impostors.Reply(passing=passing[key])

    def _judge(self, tolerance):
        text = json.dumps(tolerance).encode()

        def judge(distribution, got, expected):
            budgets, _ = self.problem.budgets.get(distribution, ([None] * len(expected), 0))
            return max((self._worst(budget, *pair, text) for budget, *pair in zip(budgets, got, expected)), default=0.0)
        return judge

    def audit(self, request):
        """Is the problem fit to be scored (audit.py)? Anchors were asked for before, one for each distribution."""
        self.free_sessions()
        audit = Audit(self.problem, self._judge(request.tolerance))
        audit.run()
        budgets = {name: [parsed(self.lib.kbd_budget_info(self.device, b)) if b else None for b in budgets]
                   for name, (budgets, _) in self.problem.budgets.items()}
        self.release_memory()
        return ops.Audit.Reply(failures=audit.failures, notes=audit.notes, budgets=budgets, peak_bytes=audit.peak_bytes,
                               worst={what: "inf" if worst == math.inf else worst for what, worst in audit.worst.items()})

    def _worst(self, budget, got, expected, tolerance):
        code, bits, _ = trees.DTYPES[expected.dtype]
        shape = (ctypes.c_int64 * max(expected.dim(), 1))(*expected.shape)
        result = parsed(self.lib.kbd_judge(self.device, budget, code, bits, expected.dim(), shape,
                                           got.data_ptr(), expected.data_ptr(), tolerance))
        worst = result["worst"]
        if isinstance(worst, str):  # JSON has no infinities
            worst = math.inf
        return worst if result["ok"] else max(worst, 1.0000001)

    def release_memory(self):
        """What is kept of freed memory is missing elsewhere."""
        if self.kind != "cpu":
            torch.cuda.empty_cache()
        else:
            self.libc.malloc_trim(0)

    def clocks(self, _):
        return ops.Clocks.Reply(clocks=self.gpu_clocks.read())

    def begin_session(self, request):
        """A session for one candidate, in which the baseline can run; what it shares with a runner comes later."""
        self.end_session()
        if self.problem.arena is None and self.kind != "cpu":  # once, so that no evaluation depends on the one before
            free = self.problem.free_now()
            self.problem.arena = self.problem.plan.arena(free), self.problem.plan.turns(free)
        layout = dataclasses.replace(self.layout, without=request.without, holds=request.holds)
        self.session = self.lib.kbd_session_new(self.device, ops.encoded(layout))
        if not self.session:
            raise ProblemError(self.lib.kbd_error().decode())
        self.module, self.weights, self.shared = request.module, 0, False
        self.same_inputs = "fresh-inputs" in request.without
        return ops.Nothing()

    def share(self, request):
        """The memory that a runner shares; the descriptors are doorbell, inputs, outputs, parameters. `reuse`: the runner of the
        session before is gone, so what it shared may serve again."""
        before = self.ended.pop() if request.reuse and self.ended else None
        self.free_sessions()
        arena, turns = self.room_for_outputs()
        fds = (ctypes.c_int * 4)()
        beside = self.beside.session if request.beside and self.shares_inputs() else None
        self.shared = bool(self.lib.kbd_session_share(self.session, before, beside, arena, fds))
        if before:
            self.lib.kbd_session_free(before)
        if not self.shared:  # what torch keeps of freed memory may be missing
            self.release_memory()
            self.shared = bool(self.lib.kbd_session_share(self.session, None, beside, arena, fds))
        if not self.shared:
            raise ProblemError(self.lib.kbd_error().decode())
        self.populated = False
        return ops.Share.Reply(arena_bytes=arena, output_turns=turns), list(fds)

    def room_for_outputs(self):
        """Bytes of a module's arena, and in how many places its outputs lie in turn; 0 bytes: they have fixed places."""
        if not self.module:
            return 0, 0
        return self.problem.arena if self.kind != "cpu" else self.host_arena()

    def host_arena(self):
        return self.problem.plan.host_arena(self.layout.outputs_bytes, self.problem.reach, self.problem.free_now()), 0

    def attach(self, request, fds):
        self.lib.kbd_session_attach(self.session, request.pid, os.dup(fds[0]))
        return ops.Nothing()

    def set_weights(self, request):
        """Makes weight set `index` the reference's and puts it where the runner finds it."""
        if not self.populated:  # while the engine starts the runner, there is time for it
            self.lib.kbd_session_populate(self.session)
            self.populated = True
        self.weights = request.index % len(self.problem.models)
        _, parameters = self.problem.parameters(self.weights)
        self.lib.kbd_set_parameters(self.session, pointers(parameters))
        return ops.SetWeights.Reply(seed=self.problem.seeds[self.weights])

    def draw(self, request):
        if not (self.same_inputs and self.inputs):
            if self.kind != "cpu":  # the last round's need not be there beside the new ones
                self.inputs = []
            self.structure, self.inputs = self.problem.draw(request.distribution, request.seed)
        self.rng_seed = int.from_bytes(os.urandom(7), "little")
        return ops.Draw.Reply(rng_seed=self.rng_seed)

    def present(self, request):
        self.lib.kbd_present(self.session, pointers(self.inputs), PLACED_NOW if request.in_place else PLACED_LATE)
        return ops.Nothing()

    def flush(self, _):
        self.lib.kbd_flush(self.device)
        return ops.Nothing()

    def call(self, request):
        if request.kind == LOAD and self.kind != "cpu":
            self.others_before = self.others_bytes()
        return parsed(self.lib.kbd_call(self.session, request.kind, request.argument,
                                        int(request.timeout_us * 1000), self.clocked(request)))

    @staticmethod
    def others_bytes():
        """What other processes hold of a GPU's memory."""
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()

    def memory_taken(self, _):
        """By others since the candidate was to be loaded, and what was planned for it. Its processes are stopped."""
        return ops.MemoryTaken.Reply(taken=self.others_bytes() - self.others_before, planned=self.problem.plan.allowance())

    def clocked(self, request):
        """Whether secret positions are read. On a GPU that is part of every offset: the device must come back to this process."""
        return request.kind == FORWARD or (request.kind == EMPTY and self.kind != "cpu")

    def observe(self, request):
        """A call that counts for nothing but the question which code ran in it (src/device/c_api.h, kbd_observe)."""
        return parsed(self.lib.kbd_observe(self.session, pointers(self.inputs), self.rng_seed,
                                           int(request.timeout_us * 1000), json.dumps(request.settings).encode()))

    def check_inputs(self, _):
        return parsed(self.lib.kbd_check_inputs(self.session, pointers(self.inputs)))

    def expect(self, _):
        """What the outputs of this round must be."""
        self.expected = []  # the reference will get the same memory again
        self.expected = self.reference_outputs()
        return ops.Nothing()


    def reference_outputs(self):
        """Of this round's inputs, by eager, and not timed."""
        inputs = self.inputs if self.problem.keeps_inputs else [t.clone() for t in self.inputs]
        return [t.contiguous() for t in self.problem.outputs(self.problem.forward(self.weights, self.structure, inputs, self.rng_seed))]

    def compare(self, request):
        budgets, _ = self.problem.budgets.get(request.distribution, ([None] * len(self.expected), 0))
        outputs, own_anchor = self.compared(budgets, request.tolerance), False
        if narrowly_wrong(outputs, budgets):
            own = self.anchored_here(budgets, json.dumps(request.tolerance).encode())
            if own:
                outputs, own_anchor = self.compared(own, request.tolerance), True
            for budget in filter(None, own):
                self.lib.kbd_budget_free(budget)
        for output in outputs:
            output["dtype"] = str(self.expected[output["output"]].dtype).removeprefix("torch.")
        return ops.Compare.Reply(outputs=outputs, late=not self.lib.kbd_secrets_hold(self.session), own_anchor=own_anchor)

    def compared(self, budgets, tolerance):
        array = (ctypes.c_void_p * max(len(budgets), 1))(*budgets)
        return parsed(self.lib.kbd_compare(self.session, pointers(self.expected), array, json.dumps(tolerance).encode()))

    def keep_outputs(self, _):
        if not self.lib.kbd_keep_outputs(self.session):
            raise ProblemError(self.lib.kbd_error().decode())
        return ops.Nothing()

    def outputs_equal_kept(self, _):
        return ops.OutputsEqualKept.Reply(equal=bool(self.lib.kbd_outputs_equal_kept(self.session)))

    def end_session(self, _=None):
        """On a GPU memory that a runner shared is freed later: while it dies, the driver keeps waiting who takes or frees any."""
        if self.session and self.shared and self.kind != "cpu":
            self.ended.append(self.session)
        elif self.session:
            self.lib.kbd_session_free(self.session)
        self.session, self.shared = None, False
        self.inputs, self.expected = [], []
        return ops.Nothing()

    def free_sessions(self):
        while self.ended:
            self.lib.kbd_session_free(self.ended.pop())


def answer(host, message, fds):
    """(reply, descriptors). What is wrong with a problem is an answer too; anything else is a bug and ends the process."""
    try:
        return host.perform(message, fds)
    except (ProblemError, trees.Unsupported) as error:
        return {"problem_error": str(error)}, []
    except (MemoryError, RuntimeError) as error:
        if is_out_of_memory(error):
            said = ". ".join(str(error).split(". ")[:2]).rstrip(".")  # torch goes on for lines
            return {"problem_error": f"out of memory while running the reference: {said}; choose a smaller --size", "out_of_memory": True}, []
        return {"problem_error": f"the reference raised {type(error).__name__}: {error}",
                "traceback": traceback.format_exc()}, []
    finally:
        for fd in fds:
            os.close(fd)


def limit_memory():
    """What does not fit fails as an allocation, which is a message, and not as a kill by the kernel."""
    limit = available_bytes() + (1 << 30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))


def main():
    os.environ.pop("LD_PRELOAD", None)  # as in the zygote
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine ends this process in its own order
    fd, library, kind, threads = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    gc.freeze()  # what is imported is never garbage: collections in the middle of a call are short
    if kind == "cpu":
        limit_memory()
    serve(Channel(fd), library, kind, threads)


def serve(channel, library, kind, threads):
    try:
        host = Host(library, kind, threads)
    except NoDevice as error:
        channel.receive()
        channel.send({"device_error": str(error)})
        return
    while (message := channel.receive()) is not None:
        reply, fds = answer(host, *message)
        channel.send(reply, fds)


def serve_confined(runners, request, channel):
    """The worker's whole life; returns its exit code. `runners`: the runner library. `request`: runner_spec.Device."""
    problem = runner_library.confine(runners, request.confinement)  # before there are threads, which would not be
    if problem:
        sys.stderr.write(f"device process: {problem}\n")
        return 125
    torch.set_num_threads(request.threads)
    torch.set_grad_enabled(False)
    os.environ["KERNELBENCH_CACHE"] = request.cache
    try:
        serve(channel, request.library, request.device, request.threads)
    except ConnectionError:
        pass  # the engine is gone
    return 0


if __name__ == "__main__":
    try:
        main()
    except ConnectionError:
        sys.exit(0)  # the engine is gone
