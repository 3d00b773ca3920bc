"""Which sizes of a problem fit into memory, for the message that one does not."""

import dataclasses

import torch

from . import trees


def _bytes(value):
    tensors = []
    trees.flatten(value, tensors, "value")
    return sum(t.numel() * t.element_size() for t in tensors)


def _fits(module, plan, free_bytes):
    """Found out on meta tensors, which take no memory. `plan`: of another size; what a forward needs besides grows with what it is given."""
    with torch.device("meta"):
        inputs = module.get_inputs()
        positional, named = trees.arguments(module.Model, module.get_init_inputs())
        model = module.Model(*positional, **named)
        positional, named = trees.arguments(model.forward, inputs)
        outputs = _bytes(model(*positional, **named))
    inputs, weights = _bytes(inputs), _bytes(list(model.state_dict().values()))
    forward = plan.forward * (inputs + outputs) // max(1, plan.inputs + plan.outputs)
    return dataclasses.replace(plan, inputs=inputs, outputs=outputs, forward=forward, weights=weights).least() <= free_bytes


def advice(module, load, plan, free_bytes):
    """What to do where `plan` of `module` does not fit. `load(size)`: the same problem at another size. What cannot run on meta tensors is not named."""
    fitting = []
    for size in getattr(module, "SIZES", {}):
        try:
            if _fits(load(size), plan, free_bytes):
                fitting.append(size)
        except Exception:
            pass
    return f"--size {' or '.join(fitting)} should fit" if fitting else "choose a smaller --size"
