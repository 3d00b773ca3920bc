"""At which clocks an NVIDIA GPU runs now, as NVML tells it. The library comes with the driver."""

import ctypes

import torch

_CLOCKS = {"sm_mhz": 1, "memory_mhz": 2}  # nvmlClockType_t


class GpuClocks:
    """Those of PyTorch's first GPU, or of none: on a CPU, and where they cannot be read. NVML is asked for at the first look, and
    kept: beginning with it takes milliseconds, a look some microseconds."""

    def __init__(self, kind):
        self.kind, self.nvml, self.gpu = kind, None, None

    def read(self):
        """{"sm_mhz", "memory_mhz"}, or None."""
        clocks = {name: self._look(number) for name, number in _CLOCKS.items()}
        return None if None in clocks.values() else clocks

    def sm_mhz(self):
        """0: not known."""
        return self._look(_CLOCKS["sm_mhz"]) or 0

    def _look(self, number):
        if self.kind != "cpu" and self.nvml is None:
            self.nvml, self.gpu = _begin()
        value = ctypes.c_uint()
        if not self.gpu or self.nvml.nvmlDeviceGetClockInfo(self.gpu, number, ctypes.byref(value)) != 0:
            return None
        return value.value


def _begin():
    """NVML and its handle of the GPU; the handle is None where there is none."""
    try:
        nvml, gpu = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
        uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}".encode()
        known = nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(gpu)) == 0
    except (OSError, AttributeError):  # no driver, or an older PyTorch or driver
        return False, None
    return nvml, gpu if known else None
