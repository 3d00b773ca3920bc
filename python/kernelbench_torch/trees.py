"""Nested inputs and outputs: tensors flattened from left to right, the structure kept as plain JSON."""

import torch

# DLPack type codes, as in kernelbench/kernel.h.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

DTYPES = {
    torch.float32: (_FLOAT, 32, 1),
    torch.float64: (_FLOAT, 64, 1),
    torch.float16: (_FLOAT, 16, 1),
    torch.bfloat16: (_BFLOAT, 16, 1),
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


def flatten(value, tensors, what):
    """Appends the tensors in `value` to `tensors` and returns its structure; `what` names it in messages."""
    if isinstance(value, torch.Tensor):
        if value.dtype not in DTYPES:
            raise Unsupported(f"{what} holds a tensor of dtype {value.dtype}, which is not supported")
        if value.layout is not torch.strided:
            raise Unsupported(f"{what} holds a tensor of layout {value.layout}; only strided tensors are supported")
        tensors.append(value.detach())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [flatten(item, tensors, what) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[key, flatten(item, tensors, what)] for key, item in value.items()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    raise Unsupported(f"{what} holds a {type(value).__name__}; tensors, numbers, strings, lists, tuples and dicts are supported")


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

    Returns the specs (dtype, shape, strides, offset and bytes of each) and the size of the segment in bytes.
    """
    specs, offset = [], 0
    for index, tensor in enumerate(tensors):
        size = tensor.numel() * tensor.element_size()
        specs.append({"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "strides": list(tensor.stride()),
                      "offset": offset, "bytes": size, **({"name": names[index]} if names else {})})
        offset += (size + PAGE - 1) // PAGE * PAGE + PAGE
    return specs, offset
