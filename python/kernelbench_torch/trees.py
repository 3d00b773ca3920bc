"""Nested inputs and outputs: tensors flattened from left to right, the structure kept as plain JSON."""

import inspect
import math
import sys

import torch

from . import ops

# DLPack type codes, as in kernelbench/kernel.h.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL, _E4M3FN, _E5M2 = 0, 1, 2, 4, 5, 6, 10, 12

DTYPES = {
    torch.float32: (_FLOAT, 32, 1),
    torch.float64: (_FLOAT, 64, 1),
    torch.float16: (_FLOAT, 16, 1),
    torch.bfloat16: (_BFLOAT, 16, 1),
    torch.float8_e4m3fn: (_E4M3FN, 8, 1),
    torch.float8_e5m2: (_E5M2, 8, 1),
    torch.int8: (_INT, 8, 1),
    torch.int16: (_INT, 16, 1),
    torch.int32: (_INT, 32, 1),
    torch.int64: (_INT, 64, 1),
    torch.uint8: (_UINT, 8, 1),
    torch.bool: (_BOOL, 8, 1),
    torch.complex64: (_COMPLEX, 64, 1),
    torch.complex128: (_COMPLEX, 128, 1),
}
TORCH_DTYPES = {code: dtype for dtype, code in DTYPES.items()}


class Unsupported(Exception):
    """A value that cannot cross to another process, or a dtype we have no name for."""


class Unlike(Exception):
    """A value of another structure than was expected."""


def _is_number(value):
    """Python's or NumPy's, of which torch.tensor() makes one of its own type."""
    numpy = sys.modules.get("numpy")
    return isinstance(value, (bool, int, float)) or numpy is not None and isinstance(value, (numpy.number, numpy.bool_))


def flatten(value, tensors, what, number=None):
    """Appends the tensors in `value` to `tensors` and returns its structure; `what` names it in messages. `number` makes tensors of
    numbers, which are part of the structure otherwise."""
    if number and _is_number(value):
        value = number(value)
    if isinstance(value, torch.Tensor):
        if value.dtype not in DTYPES:
            raise Unsupported(f"{what} holds a tensor of dtype {value.dtype}, which is not supported")
        if value.layout is not torch.strided:
            raise Unsupported(f"{what} holds a tensor of layout {value.layout}; only strided tensors are supported")
        tensors.append(value.detach())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [flatten(item, tensors, what, number) for item in value]}
    if isinstance(value, dict):
        for key in value:
            if type(key) not in (str, int):
                raise Unsupported(f"{what} holds a dict with the key {key!r}; keys may be strings and integers")
        return {"dict": [[key, flatten(item, tensors, what, number)] for key, item in value.items()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        if not _crosses(value):
            raise Unsupported(f"{what} holds {value!r}; numbers must be finite and fit into 64 bits, strings must be UTF-8")
        return {"value": value}
    raise Unsupported(f"{what} holds a {type(value).__name__}; tensors, numbers, strings, lists, tuples and dicts are supported")


def _crosses(value):
    """Whether JSON holds the value as it is."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return value.encode("utf-8", "ignore").decode() == value
    return value is None or -1 << 63 <= value < 1 << 63


def unflatten(structure, tensors):
    """The inverse of flatten()."""
    (kind, content), = structure.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "list":
        return [unflatten(item, tensors) for item in content]
    if kind == "tuple":
        return tuple(unflatten(item, tensors) for item in content)
    if kind == "dict":
        return {key: unflatten(item, tensors) for key, item in content}
    return content


def arguments(function, values):
    """(by position, by name): how what get_inputs() or get_init_inputs() returned is passed to `function`. A dict goes by name. A list of
    a list and a dict is both kinds where the function names no two arguments that they could be."""
    if isinstance(values, dict):
        return [], values
    values = list(values)
    if len(values) == 2 and isinstance(values[0], (list, tuple)) and isinstance(values[1], dict):
        positional, named = values
        if not _names(function, values) and _bound(function, positional, named):
            return list(positional), named
    return values, {}


def _names(function, values):
    """Whether these go by position, though not to a signature that takes anything (*args, **kwargs)."""
    bound = _bound(function, values, {})
    kinds = {parameter.kind: name for name, parameter in bound.signature.parameters.items()} if bound else {}
    anything = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds.keys()
    return bool(bound) and not (anything and bound.arguments.get(kinds[inspect.Parameter.VAR_POSITIONAL]))


def _bound(function, positional, named):
    """Its arguments by their names; None if it cannot be called so."""
    try:
        return inspect.signature(function).bind(*positional, **named)
    except (TypeError, ValueError):
        return None


def call(function, structure, tensors):
    """`structure`: of arguments()."""
    positional, named = unflatten(structure, tensors)
    return function(*positional, **named)


def match(structure, value, tensors, number, where="the output"):
    """Appends the tensors in `value` to `tensors`, in the order of `structure`, which has one for each number too. Dicts are matched by
    key; lists and tuples are alike. Raises Unlike."""
    (kind, content), = structure.items()
    if kind == "tensor":
        if _is_number(value):
            value = number(value)
        if not isinstance(value, torch.Tensor):
            raise Unlike(f"{where} is {_name(value)}, expected a tensor")
        tensors.append(value)
    elif kind in ("list", "tuple"):
        if not isinstance(value, (list, tuple)) or len(value) != len(content):
            raise Unlike(f"{where} is {_name(value)}, expected a {kind} of {len(content)}")
        for i, (part, item) in enumerate(zip(content, value)):
            match(part, item, tensors, number, f"{where}[{i}]")
    elif kind == "dict":
        keys = [key for key, _ in content]
        if not isinstance(value, dict) or set(value) != set(keys):
            raise Unlike(f"{where} is {_name(value)}, expected a dict with the keys {', '.join(map(repr, keys))}")
        for key, part in content:
            match(part, value[key], tensors, number, f"{where}[{key!r}]")
    elif type(value) is not type(content) or value != content:
        raise Unlike(f"{where} is {_name(value)}, expected {content!r}")


def _name(value):
    if isinstance(value, dict):
        return f"a dict with the keys {', '.join(map(repr, value))}"[:200]
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)[:200]
    return f"a {type(value).__name__}"


def numbers(structure):
    """The numbers of a structure in order, for native candidates."""
    (kind, content), = structure.items()
    if kind == "value":
        return [content] if isinstance(content, (bool, int, float)) else []
    if kind in ("list", "tuple"):
        return [number for item in content for number in numbers(item)]
    if kind == "dict":
        return [number for _, item in content for number in numbers(item)]
    return []


def is_dense(tensor):
    """True if the elements fill their stretch of memory without gaps and without overlap, in whatever order."""
    expected = 1
    for stride, extent in sorted((s, n) for s, n in zip(tensor.stride(), tensor.shape) if n != 1):
        if stride != expected:
            return False
        expected *= extent
    return True


PAGE = 4096


def layout(tensors, names=None):
    """Places tensors in one shared segment, each on pages of its own with a guard page behind it.

    Returns what each is and where (ops.Tensor), and the size of the segment in bytes.
    """
    specs, offset = [], 0
    for index, tensor in enumerate(tensors):
        size = tensor.numel() * tensor.element_size()
        specs.append(ops.Tensor(dtype=DTYPES[tensor.dtype], shape=list(tensor.shape), strides=list(tensor.stride()),
                                offset=offset, bytes=size, name=names[index] if names else ""))
        offset += (size + PAGE - 1) // PAGE * PAGE + PAGE
    return specs, offset
