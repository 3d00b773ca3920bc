"""Input distributions that show what uniform numbers in [0, 1) hide. Only floating-point inputs change."""

import torch


def _centred(x):
    return x - x.mean()


def _scaled(x):
    """Far enough from 0 that exp() overflows where nobody subtracts the maximum."""
    x = x - x.mean()  # the one before goes
    return x.mul_(256)


def _outliers(x):
    """A few elements anywhere are as large as scaled ones. All others are natural, so no sample of them tells."""
    few = torch.unravel_index(torch.randint(x.numel(), (2 + x.numel() // 4096,), device=x.device), x.shape)
    large = (x[few] - x.mean()).mul_(256)
    x = x.clone()
    x[few] = large
    return x


def _sparse(x):
    x = x - x.mean()
    kept = torch.rand(x.shape, device=x.device) < 0.1
    return x.mul_(kept)


def _structured(x):
    """Signs alternate along memory: neighbours cancel, so sums keep only what precision leaves."""
    x = x.clone()
    if x.is_contiguous():
        x.view(-1)[1::2].neg_()
        return x
    signs = 1 - 2 * (torch.arange(x.numel(), device=x.device) % 2)
    return x.mul_(signs.reshape(x.shape).to(x.dtype))


STRESS = {"centred": _centred, "outliers": _outliers, "scaled": _scaled, "sparse": _sparse, "structured": _structured}


def _in_bytes(stress):
    """There is no arithmetic in a byte. What does not fit in it is its largest number."""
    def stressed(x):
        most = torch.finfo(x.dtype).max
        return stress(x.float()).clamp_(-most, most).to(x.dtype)
    return stressed


def transform(name, tensors):
    """`tensors` under the named distribution; the list is emptied, so that each tensor goes as soon as it was transformed."""
    transformed = []
    while tensors:
        whole = tensors[0].is_floating_point() and tensors[0].numel() > 1
        stress = STRESS[name] if tensors[0].element_size() > 1 else _in_bytes(STRESS[name])
        transformed.append(stress(tensors.pop(0)) if whole else tensors.pop(0))
    return transformed
