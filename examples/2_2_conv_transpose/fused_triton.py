"""Transposed convolution by the library, and the chain behind it in one Triton kernel.

Teaches: the longer the chain, the more there is to win. The output has two gigabytes, and eager PyTorch goes over it
six times after the convolution: its bias, the other bias, clamp, scale, clamp, divide. One kernel does it in place.
Both biases are added, both clamps are taken, and nothing is simplified that another SCALE would make wrong.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def finish(z, inner, outer, channels, plane, scale, BLOCK: tl.constexpr):
    """The chain on one block of one channel of one image, in place."""
    image_channel = tl.program_id(0)
    channel = image_channel % channels
    within = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = z + image_channel.to(tl.int64) * plane + within
    value = tl.load(at, mask=within < plane) + tl.load(inner + channel) + tl.load(outer + channel)
    value = tl.minimum(tl.maximum(value, 0.0), 1.0)
    value = tl.minimum(tl.maximum(value * scale, 0.0), 1.0) / scale
    tl.store(at, value, mask=within < plane)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, bias_shape, scale):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride,
                                                 padding=padding, output_padding=output_padding)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.scale = scale

    def forward(self, x):
        conv = self.conv_transpose
        z = F.conv_transpose2d(x, conv.weight, None, conv.stride, conv.padding, conv.output_padding)
        batch, channels, height, width = z.shape
        plane = height * width
        grid = (batch * channels, triton.cdiv(plane, BLOCK))
        finish[grid](z, conv.bias, self.bias, channels, plane, float(self.scale), BLOCK=BLOCK)
        return z
