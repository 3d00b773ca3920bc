"""Convolution by the library, and everything behind it in one Triton kernel.

Teaches: fuse what the library leaves. cuDNN's convolution is hard to beat, but PyTorch adds its bias, takes the ReLU
and adds the second bias in a kernel each, every one a read and a write of a gigabyte. Asked for a convolution without a
bias, it leaves all three to one kernel, which works in place. A program stays within one channel, so that the two
biases are two numbers and no index has to be divided.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def finish(z, inner, outer, channels, plane, BLOCK: tl.constexpr):
    """z = max(z + inner, 0) + outer on one block of one channel of one image."""
    image_channel = tl.program_id(0)
    channel = image_channel % channels
    within = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = z + image_channel.to(tl.int64) * plane + within
    value = tl.load(at, mask=within < plane) + tl.load(inner + channel)
    tl.store(at, tl.maximum(value, 0.0) + tl.load(outer + channel), mask=within < plane)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        z = F.conv2d(x, self.conv.weight)
        batch, channels, height, width = z.shape
        plane = height * width
        grid = (batch * channels, triton.cdiv(plane, BLOCK))
        finish[grid](z, self.conv.bias, self.bias, channels, plane, BLOCK=BLOCK)
        return z
