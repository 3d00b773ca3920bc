"""At which clocks an NVIDIA GPU runs now, as NVML tells it. The library comes with the driver."""

import ctypes

import torch

_CLOCKS = {"sm_mhz": 1, "memory_mhz": 2}  # nvmlClockType_t


def read_clocks():
    """{"sm_mhz", "memory_mhz"} of PyTorch's first GPU; None where they cannot be read."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2() != 0:
            return None
    except (OSError, AttributeError):
        return None
    try:
        return _clocks_of(nvml, f"GPU-{torch.cuda.get_device_properties(0).uuid}")
    except AttributeError:  # an older PyTorch or driver
        return None
    finally:
        nvml.nvmlShutdown()


def _clocks_of(nvml, uuid):
    gpu, value, clocks = ctypes.c_void_p(), ctypes.c_uint(), {}
    if nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(gpu)) != 0:
        return None
    for name, number in _CLOCKS.items():
        if nvml.nvmlDeviceGetClockInfo(gpu, number, ctypes.byref(value)) != 0:
            return None
        clocks[name] = value.value
    return clocks
