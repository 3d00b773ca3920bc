"""Linear layer whose operands are rounded to 8-bit floating point (e4m3), each tensor with a scale of its own.

    scale(z) = max |z| / 448                     one fp32 number for the whole tensor; 448 is e4m3's largest number
    q(z)     = z / scale(z), rounded to e4m3     division in fp32, rounding to the nearest, ties to even
    y        = scale(x) * scale(weight) * q(x) q(weight)^T

Input: x, (BATCH, SEQUENCE, IN_FEATURES) of fp16. Parameter: `weight`, (OUT_FEATURES, IN_FEATURES) of fp16. Output: y,
(BATCH, SEQUENCE, OUT_FEATURES) of fp16. Both operands are quantised in every call; sums are taken in fp32, and fp16 is
rounded to once, at the end.
"""
import torch
import torch.nn as nn

BATCH = 8
SEQUENCE = 2048
IN_FEATURES = 4096
OUT_FEATURES = 4096

FAMILY = "quantised matmul"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 512, "IN_FEATURES": 512, "OUT_FEATURES": 512},
    # torch._scaled_mm takes only multiples of 16 for the features; these are odd ones.
    "odd": {"BATCH": 3, "SEQUENCE": 331, "IN_FEATURES": 560, "OUT_FEATURES": 464},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
# The types are part of the task, and all are as written in both; bf16 would change the weight's.
PRECISIONS = ("fp32", "fp16")

E4M3 = torch.float8_e4m3fn
LARGEST = torch.finfo(E4M3).max


def quantise(z):
    """The e4m3 tensor q(z), and its scale."""
    z = z.float()
    scale = z.abs().amax().clamp(min=1e-12) / LARGEST
    return (z / scale).clamp(-LARGEST, LARGEST).to(E4M3), scale


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(out_features, in_features) * in_features**-0.5).half())

    def forward(self, x):
        a, scale_a = quantise(x.flatten(0, 1))
        b, scale_b = quantise(self.weight)
        if x.device.type == "cpu":  # where torch._scaled_mm is slow, or not there: the same operands in fp32
            y = (a.float() @ b.float().T * (scale_a * scale_b)).to(x.dtype)
        else:
            y = torch._scaled_mm(a, b.T, scale_a=scale_a, scale_b=scale_b, out_dtype=x.dtype, use_fast_accum=False)
        return y.unflatten(0, x.shape[:2])


def reference_fp64(model, x):
    """The product of the same quantised operands, in fp64. x comes as fp64, with the values it had in fp16."""
    (a, scale_a), (b, scale_b) = quantise(x), quantise(model.weight)
    return (a.double() * scale_a.double()) @ (b.double() * scale_b.double()).T


def get_inputs():
    return [torch.randn(BATCH, SEQUENCE, IN_FEATURES).half()]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
