"""One problem: a Python file with Model, get_inputs() and get_init_inputs(), KernelBench's contract.

A file may also declare
    SIZES            {"small": {"N": 512}, ...}: named variants that override module-level constants
    DISTRIBUTIONS    names from distributions.py under which the task still makes sense
    NEEDS_TORCH_RNG  True if the answer depends on torch's generator; refuses native candidates
    ERRORS_WANDER    why the reference's error in one place says little about the next time: then all blocks share one budget
    reference_fp64   the same as Model.forward in fp64, for modules that cannot simply be cast: f(model, *inputs)
"""

import contextlib
import copy
import functools
import linecache
import os
import pathlib
import sys
import types

import torch

from . import distributions, sizes, tf32, trees
from .drawing import ParallelUniform
from .memory_plan import MemoryPlan, Windows

PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
MOST_OUTPUTS = 256  # of a report (src/wire/report.h)
LARGE_WEIGHTS = 256 << 20  # bytes; torch draws about as many in half a second


class ProblemError(Exception):
    """The problem, not the candidate and not the engine, is at fault. The text says what to do."""


def load_module(path, size):
    """Executes a problem file and applies one of its SIZES. Returns the module."""
    return module_of(pathlib.Path(path).read_bytes(), path, size)  # compile() heeds the file's own declaration of its encoding


def module_of(source, path, size):
    """The same from the text of the file."""
    module = types.ModuleType("kernelbench_problem")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    if isinstance(source, str):  # inspect finds it there, where torch.jit looks
        linecache.cache[str(path)] = (len(source), None, source.splitlines(True), str(path))
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except ModuleNotFoundError as error:
        raise ProblemError(f"{path} needs the Python package {error.name}: {sys.executable} -m pip install {error.name}") from error
    except (Exception, SystemExit) as error:
        raise ProblemError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(getattr(module, "Model", None)):
        module.Model = only_module_class(module, path)
        module.reference_name = module.Model.__name__
    if not callable(getattr(module, "get_inputs", None)):
        raise ProblemError(f"{path} does not define get_inputs; a problem needs a class Model, a torch.nn.Module, and get_inputs()")
    if not callable(getattr(module, "get_init_inputs", None)):
        module.get_init_inputs = list
    if size != "standard":
        sizes = getattr(module, "SIZES", {})
        if size not in sizes:
            raise ProblemError(f"{path} has no size {size!r}; it has: {', '.join(['standard', *sizes])}")
        for name, value in sizes[size].items():
            if not hasattr(module, name):
                raise ProblemError(f"{path}: SIZES[{size!r}] overrides {name}, which is no constant of the module")
            setattr(module, name, value)
    return module


def only_module_class(module, path):
    """What is meant where no class is called Model."""
    own = [c for c in vars(module).values()
           if isinstance(c, type) and issubclass(c, torch.nn.Module) and c.__module__ == module.__name__]
    if len(own) == 1:
        return own[0]
    if own:
        raise ProblemError(f"{path} does not define Model, and {' and '.join(c.__name__ for c in own)} are modules: "
                           "rename the one that is meant to Model")
    raise ProblemError(f"{path} does not define Model; a problem needs a class Model, a torch.nn.Module, and get_inputs()")


def tensor_bytes(value):
    tensors = []
    trees.flatten(value, tensors, "value")
    return sum(t.numel() * t.element_size() for t in tensors)


def readable(size):
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"


def message_of(error):
    try:
        return str(error)
    except BaseException:  # a candidate's own
        return ""


def is_out_of_memory(error):
    # Out of GPU memory torch asks NVML for details, which a confined process does not reach.
    said = message_of(error).lower()
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(text in said for text in ("allocate memory", "out of memory", "nvmlinit"))


def available_bytes(device="cpu"):
    """Memory of the device that can still be taken."""
    if device != "cpu":
        return torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 1 << 62


_PIECE = 1 << 26  # elements; wider copies of a whole output may be more than there is room for


def spread_and_scale(a, b):
    """The largest difference between two tensors, and the mean magnitude of the first; 0 without elements."""
    if not a.numel():
        return 0.0, 0.0
    pairs = list(zip(a.reshape(-1).split(_PIECE), b.reshape(-1).split(_PIECE)))
    spread = torch.stack([(x.double() - y.double()).abs().max() for x, y in pairs]).max()
    return spread.item(), (torch.stack([x.double().abs().sum() for x, _ in pairs]).sum() / a.numel()).item()


def all_finite(tensor):
    return not tensor.is_floating_point() or bool((tensor if tensor.element_size() > 1 else tensor.float()).isfinite().all())


def seed_generators(seed, device):
    """Seeds what forward may draw from."""
    torch.default_generator.manual_seed(seed)
    if device != "cpu":
        torch.cuda.default_generators[0].manual_seed(seed)


def generators(device):
    """The states of what seed_generators() seeds."""
    states = [torch.default_generator.get_state()]
    return states if device == "cpu" else states + [torch.cuda.default_generators[0].get_state()]


def settle_math():
    """To be called while there is one thread. MKL's vector functions (sqrt, exp, log, ...) find out at their first call what the
    processor can do; where two threads make it at once, one of them gets results that are right to four digits (seen on a Xeon with
    AVX-512, most of all after a fork)."""
    torch.sqrt(torch.ones(4))


def plainly_own(tensors):
    """Whether each lies in aligned memory of its own, as a copy would, and means what its bytes say."""
    tensors = [t for t in tensors if t.numel()]
    whole = all(t.storage_offset() == 0 and not (t.is_conj() or t.is_neg() or t.is_inference()) for t in tensors)
    return whole and len({t.untyped_storage().data_ptr() for t in tensors}) == len(tensors)


def difference(what, forms, expected):
    """In words, where the forms (shape and dtype each) of so many tensors first differ."""
    i, (shape, dtype), (was, of) = next((i, *pair) for i, pair in enumerate(zip(forms, expected)) if pair[0] != pair[1])
    return f"{what} {i} is {dtype} of shape {list(shape)}, and was {of} of shape {list(was)}"


def zeros_like_outputs(structure, forms, device):
    """What a model returns that writes zeros and does nothing else. `forms`: dtype and shape of each output."""
    return trees.unflatten(structure, [torch.zeros(shape, dtype=dtype, device=device) for dtype, shape in forms])


def synchronize():
    """torch.cuda.synchronize() without what it looks up first: that is inside every clock."""
    torch._C._cuda_synchronize()


class Arrival:
    """The beginning of a call on a GPU, and the device's own clock around it if that is asked for (`timed`)."""

    def __init__(self):
        self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._stream, self._mark = torch.cuda.default_stream(), torch.zeros(1, device="cuda")

    def begin(self, timed, waits):
        """`waits`: until the device has changed to this process; otherwise launches hide behind the change, which the first work begins."""
        if waits:
            self._end.record(self._stream)
            self._end.synchronize()
        if timed:
            # Behind a kernel. An event that follows a copy is the copy engine's, which waits for no change of contexts: after new weights
            # a call seemed to begin before the judge's hold was over.
            self._mark.zero_()
            self._start.record()  # on the stream that a candidate may have left current

    def end(self):
        self._end.record()

    def events(self):
        """The two, as the driver knows them; recorded by now."""
        return self._start.cuda_event, self._end.cuda_event


def constructor_arguments(module):
    """The arguments of a problem's constructor, flattened."""
    return trees.flatten(trees.arguments(module.Model, module.get_init_inputs()), [], "get_init_inputs()")


class Problem:
    """A problem at one size and precision on one device, with one reference module for each weight seed."""

    def __init__(self, path, size, precision, weight_seeds, fill_uniform, device="cpu", memory_bytes=0, figures=None, text=None):
        """`fill_uniform(address, elements, seed)`: a faster torch.rand for inputs without a prescribed seed, on the CPU.
        `memory_bytes`: plan with at most this much of the device's memory; 0: with what is free. `figures`: `input_bytes` and
        `parameter_bytes` in fp32 (problems/index.json), as far as they are known. What is not known is found out on meta tensors, on
        which some arithmetic takes seconds of imports. `text`: what a file at `path` would hold, where there is none."""
        figures = figures or {}
        self.free_bytes = min(available_bytes(device), memory_bytes or 1 << 62)
        self.path, self.dtype, self.fill_uniform, self.device = path, PRECISIONS[precision], fill_uniform, device
        self._load = functools.partial(load_module, path) if text is None else functools.partial(module_of, text, path)
        self.module = self._load(size)
        self.text = text
        self.needs_rng = bool(getattr(self.module, "NEEDS_TORCH_RNG", False))
        self.distributions = [name for name in getattr(self.module, "DISTRIBUTIONS", ()) if name in distributions.STRESS]
        self.errors_wander = bool(getattr(self.module, "ERRORS_WANDER", ""))
        self.notes = []
        self.models, self.structure, self.output_structure = [], None, None
        self._refuse_what_cannot_fit(figures.get("input_bytes"))
        self.seeds = list(weight_seeds)
        init = self._guard("get_init_inputs()", lambda: self._seeded(self.seeds[0], self.module.get_init_inputs))
        self.init = trees.arguments(self.module.Model, init)
        self.construct_on = self._where_to_construct(figures.get("parameter_bytes"))
        self.models = [self._guard("Model(...)", lambda seed=seed: self._construct(seed)) for seed in self.seeds]
        if not self.models[0].state_dict():
            self.models, self.seeds = self.models[:1], self.seeds[:1]
        self._double = None
        self.may_be_tf32 = self.dtype == torch.float32 and tf32.is_allowed(device)
        self._describe()

    # -- what the engine asks for ------------------------------------------------------------------------------------

    def anchors_fit(self):
        """Whether there is room for the reference in fp64."""
        return self.plan.anchors() + self.windows <= self.free_now()

    def free_now(self):
        """How much of the device's memory there is to plan with."""
        return min(available_bytes(self.device), self.free_bytes)

    def draw(self, distribution="natural", seed=None):
        """Fresh inputs: the structure's tensors, in the problem's precision. With a seed they are torch's for that seed."""
        if seed is not None:
            return self._draw(distribution, seed)
        seed = int.from_bytes(os.urandom(7), "little")
        if self.device != "cpu":
            return self._draw(distribution, seed)
        with ParallelUniform(self.fill_uniform, seed):
            return self._draw(distribution, seed)

    def _draw(self, distribution, seed):
        # On the CPU no device is named: torch.device() would turn torch.rand into a call that ParallelUniform leaves alone.
        with torch.device(self.device) if self.device != "cpu" else contextlib.nullcontext():
            inputs = self._guard("get_inputs()", lambda: self._seeded(seed, self.module.get_inputs))
        tensors = []
        given = trees.arguments(self.models[0].forward, inputs)
        structure = self._guard("get_inputs()", lambda: trees.flatten(given, tensors, "get_inputs()"))
        del inputs, given  # what is cast or transformed need not stay
        tensors = [self._cast(tensors.pop(0)) for _ in range(len(tensors))]
        self._check_inputs(structure, [(t.shape, t.dtype) for t in tensors])
        if distribution != "natural":
            tensors = distributions.transform(distribution, tensors)
        return structure, [t if trees.is_dense(t) else t.contiguous() for t in tensors]

    def _check_inputs(self, structure, forms):
        """The first draw tells the form of all, and the numbers that are no tensors."""
        if self.structure is None:
            self.structure, self.input_forms = structure, forms
        elif structure != self.structure or len(forms) != len(self.input_forms):
            raise ProblemError(f"{self.path}: get_inputs() returns other numbers, strings or structures each time; only tensors may differ")
        elif forms != self.input_forms:
            raise ProblemError(f"{self.path}: get_inputs() returns inputs of several forms: {difference('input', forms, self.input_forms)}")

    def forward(self, weights, structure, tensors, rng_seed):
        """One call of the reference as PyTorch ships it."""
        seed_generators(rng_seed, self.device)
        return trees.call(self.models[weights], structure, tensors)

    def forward_fp64(self, weights, structure, tensors):
        """The same in fp64: contiguous fp64 tensors, or None where the problem has no such path."""
        seed_generators(1, self.device)
        wide = [t.double() if t.is_floating_point() else t.clone() for t in tensors]
        try:
            if hasattr(self.module, "reference_fp64"):
                reference = functools.partial(self.module.reference_fp64, self.models[weights])
                outputs = self.outputs(trees.call(reference, structure, wide), wide=True)
            else:
                if self._double is None or self._double[0] != weights:
                    self._double = (weights, copy.deepcopy(self.models[weights]).double())
                outputs = self.outputs(trees.call(self._double[1], structure, wide), wide=True)
        except (MemoryError, torch.OutOfMemoryError):
            raise  # no property of the problem: another time there may be room
        except Exception as error:
            self.notes.append(f"no_fp64: the reference does not run in fp64 ({type(error).__name__}); the tolerance alone decides")
            return None
        return [t.double().contiguous() for t in outputs]

    def forward_tf32(self, weights, structure, tensors):
        """The same with convolutions in TF32, where the device and PyTorch's settings allow that: contiguous tensors; None where it
        makes no difference, or cannot be found out. The inputs may be changed."""
        if not self.may_be_tf32:
            return None
        try:
            with tf32.InTf32() as mode:
                outputs = self.outputs(self.forward(weights, structure, tensors, 1))
        except (MemoryError, torch.OutOfMemoryError):
            return None
        except Exception:  # modules that a mode cannot look into
            mode.met = False
        self.may_be_tf32 = mode.met
        return [t.contiguous() for t in outputs] if mode.met else None

    def outputs(self, value, wide=False):
        """The flattened output tensors of a forward; numbers become tensors. The first one tells the form of all: what has no form of its
        own has no memory that could be shared for it. `wide`: in fp64, whatever their dtypes are otherwise."""
        tensors = []
        if self.output_structure is None:
            self.output_structure = trees.flatten(value, tensors, "the output of forward", self._number)
            self.output_forms = [(t.shape, t.dtype) for t in tensors]
            return tensors
        try:
            trees.match(self.output_structure, value, tensors, self._number)
        except trees.Unlike as error:
            raise self._several_forms(error) from error
        forms = [(t.shape, t.dtype) for t in tensors]
        if forms != self.output_forms and not (wide and [f[0] for f in forms] == [f[0] for f in self.output_forms]):
            raise self._several_forms(difference("output", forms, self.output_forms))
        return tensors

    def _several_forms(self, how):
        return ProblemError(f"{self.path}: forward returns outputs of several forms: {how}; their number, names, shapes and dtypes must not "
                            "depend on values, or no candidate can be judged")

    def _number(self, value):
        return torch.tensor(value, device=self.device)

    def parameters(self, weights):
        state = self.models[weights].state_dict()
        return list(state), [t if trees.is_dense(t) else t.contiguous() for t in state.values()]

    # -- construction ------------------------------------------------------------------------------------------------

    def _seeded(self, seed, function, *args):
        seed_generators(seed, self.device)
        return function(*args)

    def _where_to_construct(self, weights):
        """Where both sides construct their modules. As in KernelBench that is the CPU, from where they are moved, but for
        weights so large that torch's serial generator would take seconds for each set."""
        if self.device == "cpu":
            return "cpu"
        try:
            if weights is None:
                with torch.device("meta"):
                    weights = tensor_bytes(list(self.new_model().state_dict().values()))
        except Exception:
            return "cpu"  # a module that cannot run there is constructed as ever
        if weights < LARGE_WEIGHTS:
            return "cpu"
        self.notes.append(f"drawn_on_device: {readable(weights)} of weights are drawn by the GPU, where one seed gives others than on a CPU")
        return self.device

    def new_model(self):
        positional, named = self.init
        return self.module.Model(*positional, **named)

    def _construct(self, seed):
        with torch.device(self.construct_on) if self.construct_on != "cpu" else contextlib.nullcontext():
            model = self._seeded(seed, self.new_model)
        if not isinstance(model, torch.nn.Module):
            raise ProblemError(f"{self.path}: Model is no torch.nn.Module")
        model = model.to(self.device)
        return model.to(self.dtype) if self.dtype != torch.float32 else model

    def _cast(self, tensor):
        """Only fp32 tensors take the precision; indices, masks and quantised operands stay what they are."""
        tensor = tensor.to(self.device)
        return tensor.to(self.dtype) if tensor.dtype == torch.float32 else tensor

    def _guard(self, what, function):
        try:
            return function()
        except ProblemError:
            raise
        except trees.Unsupported as error:
            raise ProblemError(f"{self.path}: {error}") from error
        except (Exception, SystemExit) as error:
            if is_out_of_memory(error):
                raise ProblemError(f"{self.path}: {what} at this size needs more memory than is free ({error}); choose a smaller --size") from error
            raise ProblemError(f"{self.path}: {what} raised {type(error).__name__}: {error}") from error

    def _refuse_what_cannot_fit(self, input_bytes):
        """Before anything is allocated. Outputs are checked once they are there."""
        if input_bytes is None:
            try:
                with torch.device("meta"):
                    input_bytes = tensor_bytes(self.module.get_inputs())
            except Exception:
                return  # a module that cannot run there is tried for real
        self._refuse(MemoryPlan(input_bytes, 0))

    def _refuse(self, plan):
        if plan.least() > self.free_bytes:
            raise ProblemError(f"{self.path} at this size needs {readable(plan.least())}, {readable(self.free_bytes)} are free; "
                               f"{sizes.advice(self.module, self._load, plan, self.free_bytes)}")

    def _describe(self):
        """Runs the reference twice on the same inputs and once on others: what are its outputs, and is it a function of its inputs?"""
        _, tensors = self.draw()
        first, again, forward = self._run_twice(tensors)
        self._make_plan(tensors, first, forward)
        self._check_outputs(first, again)
        storages = {t.untyped_storage().data_ptr() for t in tensors}
        self.may_alias = any(t.untyped_storage().data_ptr() in storages for t in again)
        # Examples of form alone where memory is scarce.
        self.input_examples, self.output_examples = tensors, [t.contiguous() for t in first]
        if self.device != "cpu":
            self.input_examples, self.output_examples = (
                [torch.empty_like(t, device="meta") for t in examples] for examples in (self.input_examples, self.output_examples))
        del tensors, first, again  # whose room others may need
        self._try_others()

    def _run_twice(self, tensors):
        """The outputs of two calls with the same inputs, and what of a GPU's memory the second took beside them. Only the first gets copies."""
        copies = [t.clone() for t in tensors]
        with Windows() if self.device == "cpu" else contextlib.nullcontext() as windows:
            first = self._run_checked(copies)
        self.windows = windows.bytes if windows else 0
        self.keeps_inputs = plainly_own(tensors) and all(t._version == 0 and torch.equal(t, given) for t, given in zip(copies, tensors))
        del copies
        if self.device != "cpu":
            torch.cuda.reset_peak_memory_stats()
            held = torch.cuda.memory_allocated()
        again = self._run_checked(tensors)
        self._notice_random_numbers(first, tensors)
        forward = torch.cuda.max_memory_allocated() - held - tensor_bytes(again) if self.device != "cpu" else 0
        return first, again, max(0, forward)

    def _make_plan(self, inputs, outputs, forward):
        copied = tensor_bytes([t for t in outputs if not t.is_contiguous()])  # to where they are contiguous, as all compared outputs are
        weights = tensor_bytes(list(self.models[0].state_dict().values()))
        on_cpu = self.device == "cpu"  # examples are kept there, the reference's process has its own inputs, and both sides an arena
        self.plan = MemoryPlan(tensor_bytes(inputs), tensor_bytes(outputs), forward + copied, weights, len(self.models),
                               8 // self.dtype.itemsize, 2 * on_cpu + (not self.keeps_inputs), 5 if on_cpu else 0)
        self._refuse(self.plan)

    def _check_outputs(self, first, again):
        if not 0 < len(first) <= MOST_OUTPUTS:
            raise ProblemError(f"{self.path}: forward returns {len(first)} tensors and numbers; it may return 1 to {MOST_OUTPUTS}")
        for a, b in zip(first, again):
            spread, scale = spread_and_scale(a, b)
            if spread > 1e-3 * max(scale, 1e-30):
                raise ProblemError(f"{self.path}: two calls with equal inputs and an equal generator differ by {spread:.3g}; "
                                   "a reference must be deterministic")
        if not all(map(all_finite, first)):
            self.notes.append("non_finite_reference: the reference's own output holds NaN or Inf")

    def _try_others(self):
        """Other inputs and random numbers: outputs() raises where they make outputs of another form."""
        structure, tensors = self.draw()
        with torch.no_grad():
            self._guard("forward", lambda: self.outputs(self.forward(0, structure, tensors, 2)))

    def _notice_random_numbers(self, outputs, tensors):
        """Whether the answer depends on torch's generators, though the problem declares nothing. `outputs`: under seed 1."""
        drawn = generators(self.device)
        seed_generators(1, self.device)
        if self.needs_rng or all(map(torch.equal, drawn, generators(self.device))):
            return
        self.needs_rng = any(spread_and_scale(a, b)[0] > 0 for seed in (2, 3, 4, 5) for a, b in zip(outputs, self._run_checked(tensors, seed)))
        if self.needs_rng:
            self.notes.append("draws_random: forward draws random numbers; both sides get the same seed before each call")

    def empty_like(self, example):
        """An uninitialised tensor of this form."""
        return torch.empty_like(example, device=self.device)

    def _run_checked(self, tensors, rng_seed=1):
        def run():
            with torch.no_grad():
                return self.outputs(self.forward(0, self.structure, tensors, rng_seed))
        return self._guard("forward", run)
