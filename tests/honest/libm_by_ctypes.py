"""Suspicious: ctypes and addresses. Right: it calls the C library's logarithm, and reads addresses of its own
tensors."""
import ctypes
import ctypes.util

import torch
import torch.nn as nn

libm = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
libm.log.restype, libm.log.argtypes = ctypes.c_double, [ctypes.c_double]


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        top = predictions.amax(dim=1, keepdim=True)
        sums = (predictions - top).exp_().sum(dim=1).double().contiguous()
        array = (ctypes.c_double * sums.numel()).from_address(sums.data_ptr())
        logarithms = sum(libm.log(value) for value in array) / sums.numel()
        chosen = predictions.gather(1, targets[:, None])
        return (top.double().mean() - chosen.double().mean() + logarithms).float()
