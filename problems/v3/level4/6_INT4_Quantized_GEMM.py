"""Linear layer with weights of 4 bits and activations of 16 (W4A16).

    w[n, k] = (u[n, k] - ZERO_POINT) * scales[n, k / GROUP, rounded down]
    y       = x w^T

u[n, k], in [0, 16), are halves of bytes: `weight_packed[n, k / 2]` holds an even k in its low four bits and the
following odd k in its high four.

Input: x, (BATCH, SEQUENCE, IN_FEATURES) of fp16. Buffers: `weight_packed`, (OUT_FEATURES, IN_FEATURES / 2) of uint8,
and `scales`, (OUT_FEATURES, IN_FEATURES / GROUP) of fp16. Output: y, (BATCH, SEQUENCE, OUT_FEATURES) of fp16. Unpacked
weights may be rounded to fp16; sums are taken in fp32.
"""
import torch
import torch.nn as nn

BATCH = 4
SEQUENCE = 2048
IN_FEATURES = 4096
OUT_FEATURES = 11008
GROUP = 128
ZERO_POINT = 8

FAMILY = "quantised matmul"
SIZES = {
    "small": {"BATCH": 2, "SEQUENCE": 384, "IN_FEATURES": 512, "OUT_FEATURES": 704},
    # IN_FEATURES is even: two weights share a byte.
    "odd": {"BATCH": 3, "SEQUENCE": 237, "IN_FEATURES": 434, "OUT_FEATURES": 683, "GROUP": 62},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
# The types are part of the task, and all are as written in both; bf16 would change those of the scales.
PRECISIONS = ("fp32", "fp16")


class Model(nn.Module):
    def __init__(self, in_features, out_features, group, zero_point):
        super().__init__()
        self.group, self.zero_point = group, zero_point
        packed = torch.randint(0, 256, (out_features, in_features // 2), dtype=torch.uint8)
        spread = (0.5 + torch.rand(out_features, in_features // group)) * in_features**-0.5
        self.register_buffer("weight_packed", packed)
        self.register_buffer("scales", (spread / 4.6).half())  # 4.6: standard deviation of u

    def forward(self, x):
        weight = self.unpacked(x.dtype)
        if x.device.type == "cpu":  # where products of fp16 are slow: the same operands and sums in fp32
            return (x.float() @ weight.float().T).to(x.dtype)
        return x @ weight.T

    def unpacked(self, dtype):
        low, high = self.weight_packed & 15, self.weight_packed >> 4
        u = torch.stack((low, high), dim=-1).flatten(1)
        by_group = (u.to(dtype) - self.zero_point).unflatten(1, (-1, self.group))
        return (by_group * self.scales.to(dtype).unsqueeze(-1)).flatten(1)


def reference_fp64(model, x):
    """The product with exactly unpacked weights, in fp64. x comes as fp64, with the values it had in fp16."""
    return x @ model.unpacked(torch.float64).T


def get_inputs():
    return [torch.randn(BATCH, SEQUENCE, IN_FEATURES).half()]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, GROUP, ZERO_POINT]
