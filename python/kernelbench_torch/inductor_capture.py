"""What Inductor makes of a problem's reference, as a candidate: once, in a process that may start compilers and is confined as they are.

    python -m kernelbench_torch.inductor_capture SPEC LIBRARY ANSWER BEGUN

SPEC is a JSON file: `spec` (runner_spec.RunnerSpec), whose source is the problem's text, and its `path` and `size`. ANSWER becomes one:
{"original": Inductor's text, "candidate", "python": the problem's text at this size, "entry_point": its class, "triton": a version}, or
{"why": in words why there is no candidate}. BEGUN is written to before the reference runs.

The reference is compiled as the baseline compile-default is, and called once. Every tensor that Inductor's `call` was given is then looked
for among the module's parameters, buffers and the arguments, and every output among what it returned.
"""

import contextlib
import inspect
import itertools
import json
import sys
import unittest.mock

import torch

from . import first_call, inductor_text, module_runner, ops, runner_spec, trees
from .inductor_text import Launch, NoPair
from .problem import message_of, module_of, seed_generators

_MODEL = "self"


class _Seen:
    """What one call of a compiled module showed."""

    def __init__(self):
        self.texts, self.calls, self.launches = [], [], []


@contextlib.contextmanager
def _watched(seen):
    """Texts and launches are noted in `seen`."""
    from torch._inductor import config
    from torch._inductor.graph import GraphLowering
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    run = CachingAutotuner.run

    def noting(kernel, *arguments, **options):
        returned = run(kernel, *arguments, **options)
        if not options.get("benchmark_run"):
            seen.launches.append(_launch_of(kernel, arguments))
        return returned
    # In one function and not in parts, with the kernels' own names, and from no cache, which would hand out no text.
    settings = {"graph_partition": False, "force_disable_caches": True, "triton.unique_kernel_names": True}
    with config.patch(settings), unittest.mock.patch.object(GraphLowering, "save_output_code", staticmethod(seen.texts.append)), \
            unittest.mock.patch.object(CachingAutotuner, "run", noting):
        yield


def _launch_of(kernel, arguments):
    """The configuration that was chosen, after the launch."""
    config = kernel.launchers[0].config if kernel.launchers else kernel.configs[0]
    own, grid = kernel._interpret_args_grid(arguments, config)
    settings = {name: value for name, value in config.kwargs.items() if name in kernel.fn.arg_names}
    settings.update(num_warps=config.num_warps, num_stages=config.num_stages)
    if kernel.triton_meta.get("launch_cooperative_grid"):  # its blocks wait for each other
        settings["launch_cooperative_grid"] = True
    return Launch(kernel.fn.__name__, len(own), tuple(map(int, grid)), settings)


def _compiled(model, seen):
    """As torch.compile(model), with what Inductor's code is given and returns noted in `seen`."""
    from torch._inductor import compile_fx

    def inner(graph, examples, **options):
        made = compile_fx.compile_fx_inner(graph, examples, **options)

        def call(inputs):
            given = list(inputs)  # it empties the list
            returned = made(inputs)
            seen.calls.append((given, list(returned)))
            return returned
        call._boxed_call = True
        return call
    return torch.compile(model, backend=lambda graph, examples: compile_fx.compile_fx(graph, examples, inner_compile=inner),
                         fullgraph=True, dynamic=False)


def _state(model):
    """(tensor, expression) of all that the module holds."""
    for path, module in model.named_modules():
        place = _MODEL
        for part in filter(None, path.split(".")):
            place += f".{part}" if part.isidentifier() else f"[{part}]"
        try:
            same = eval(place, {_MODEL: model}) is module
        except Exception:
            same = False
        place = place if same else f"{_MODEL}.get_submodule({path!r})"
        for name, value in itertools.chain(module._parameters.items(), module._buffers.items(), vars(module).items()):
            if isinstance(value, torch.Tensor):
                yield value, f"{place}.{name}" if name.isidentifier() else f"getattr({place}, {name!r})"


def _parts(value, expression):
    """(tensor, expression) of all tensors in an argument."""
    if isinstance(value, torch.Tensor):
        yield value, expression
    elif isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            yield from _parts(each, f"{expression}[{i}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _parts(each, f"{expression}[{key!r}]")


def _arguments(model, positional, named):
    for name, value in inspect.signature(model.forward).bind(*positional, **named).arguments.items():
        yield from _parts(value, name)


def _same(a, b):
    return a is b or (a.numel() > 0 and a.data_ptr() == b.data_ptr() and a.dtype == b.dtype
                      and a.shape == b.shape and a.stride() == b.stride())


def _found(tensor, known):
    return next((expression for each, expression in known if each is tensor), None) or \
        next((expression for each, expression in known if _same(each, tensor)), None)


def _value(value, known):
    """An expression for what forward returned."""
    if isinstance(value, torch.Tensor):
        expression = _found(value, known)
        if expression is None:
            raise NoPair("an output is no tensor that Inductor's code returned, but a view that PyTorch makes of one")
        return expression
    if type(value) is tuple:
        return "(" + "".join(f"{_value(each, known)}, " for each in value) + ")"
    if type(value) is list:
        return "[" + ", ".join(_value(each, known) for each in value) + "]"
    if type(value) is dict:
        return "{" + ", ".join(f"{key!r}: {_value(each, known)}" for key, each in value.items()) + "}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    raise NoPair(f"forward returns a {type(value).__name__}")


def _body(seen, state, arguments, returned):
    """Of the new forward."""
    (text,), ((given, made),) = seen.texts, seen.calls
    names = inductor_text.parameters_of(text)
    reads = [_found(each, state + arguments) if isinstance(each, torch.Tensor) else None for each in given]
    if len(names) != len(reads) or None in reads:
        raise NoPair("Inductor's code is given a tensor that is neither an argument nor the module's")
    lines = [f"{name} = {expression}" for name, expression in zip(names, reads)]
    lines += [f"output = {inductor_text.ENTRY}([{', '.join(names)}])"]
    known = [(each, f"output[{i}]") for i, each in enumerate(made) if isinstance(each, torch.Tensor)]
    return "\n".join([*lines, f"return {_value(returned, known + arguments)}"])


def capture(module, source, size, model, inputs, device):
    """(Inductor's text, the candidate's). `module`: the problem's, of this `source` and `size`; `inputs`: (by position, by name)."""
    seen = _Seen()
    torch._dynamo.reset()
    state, arguments = list(_state(model)), list(_arguments(model, *inputs))
    with _watched(seen):
        returned = _compiled(model, seen)(*inputs[0], **inputs[1])
        if device != "cpu":
            torch.cuda.synchronize()
    if not seen.texts:
        raise NoPair("there is nothing in it that Inductor compiles")
    if len(seen.texts) != 1 or len(seen.calls) != 1:
        raise NoPair(f"Inductor made {len(seen.texts)} graphs of it")
    body, (original,) = _body(seen, state, arguments, returned), seen.texts
    candidate = inductor_text.candidate(source, type(model).__name__, _constants(module, size), body, original, seen.launches)
    return original, candidate


def _constants(module, size):
    return {} if size == "standard" else module.SIZES[size]


def at_size(source, constants):
    """The problem's text, of which the size standard has these constants."""
    changes = "".join(f"{name} = {value!r}\n" for name, value in constants.items())
    return f"{source.rstrip()}\n\n{changes}" if changes else source


def _answer(spec, path, size):
    module = module_of(spec.source.encode(), path, size)
    seed_generators(1, spec.device)
    model = module_runner.build_model(module.Model, spec, 1)
    inputs = trees.unflatten(spec.form.structure, [first_call.stand_in(each, spec.device) for each in spec.form.inputs])
    original, candidate = capture(module, spec.source, size, model, inputs, spec.device)
    if not inductor_text.kernels_of(original):
        raise NoPair("Inductor makes no Triton kernel of it, but calls libraries alone")
    import triton
    return {"original": original, "candidate": candidate, "python": at_size(spec.source, _constants(module, size)),
            "entry_point": type(model).__name__, "triton": triton.__version__}


def main():
    with open(sys.argv[1]) as file:
        told = json.load(file)
    spec = ops.decoded(runner_spec.RunnerSpec, told["spec"])
    first_call.begin(spec, "inductor capture")
    first_call.use_caches()
    try:
        answer = _answer(spec, told["path"], told["size"])
    except NoPair as error:
        answer = {"why": str(error)}
    except Exception as error:
        first = next(filter(None, map(str.strip, message_of(error).splitlines())), "")
        answer = {"why": f"Inductor does not compile it: {type(error).__name__}: {first[:400]}"}
    with open(sys.argv[3], "w") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()
