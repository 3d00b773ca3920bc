"""What a device and this PyTorch are: rates, versions, and where the libraries lie that building and tracing need."""

import glob
import math
import os
import pathlib
import re
import sys
import sysconfig
import time

import torch
from torch.utils import cpp_extension

from . import ops


class NoDevice(Exception):
    """The device is not there, or this PyTorch cannot use it. The text says what to do."""


def start_cuda():
    if torch.version.cuda is None:
        raise NoDevice(f"this PyTorch ({torch.__version__}, {sys.executable}) is built without CUDA; "
                       "set KERNELBENCH_PYTHON to a Python whose PyTorch has it")
    if not torch.cuda.is_available():
        raise NoDevice("PyTorch finds no NVIDIA GPU on this machine; nvidia-smi shows what the driver sees")
    torch.cuda.init()
    os.environ.setdefault("KERNELBENCH_NVRTC", find_nvrtc())


def multiplication_rates(kind):
    """TFLOP/s of a large matrix product, the best of several, by what it is computed in."""
    if kind == "cpu":
        return {"fp32": round(_rate(1024, torch.float32, "cpu", lambda: None), 3)}
    rates = {name: _rate(8192, dtype, kind, torch.cuda.synchronize)
             for name, dtype in (("fp16", torch.float16), ("bf16", torch.bfloat16))}
    kept = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    rates["tf32"] = _rate(8192, torch.float32, kind, torch.cuda.synchronize)
    torch.backends.cuda.matmul.allow_tf32 = kept
    # Last: by now the clocks are up.
    rates["fp32"] = _rate(4096, torch.float32, kind, torch.cuda.synchronize)
    return {name: round(rate, 1) for name, rate in rates.items()}


def _rate(n, dtype, device, wait):
    a, b = (torch.randn(n, n, dtype=dtype, device=device) for _ in range(2))
    out, best, times = torch.empty_like(a), math.inf, 0
    wait()
    begin = time.perf_counter()
    while times < 4 or time.perf_counter() - begin < 0.03:
        start = time.perf_counter()
        torch.matmul(a, b, out=out)
        wait()
        best, times = min(best, time.perf_counter() - start), times + 1
    return 2 * n**3 / best / 1e12


def build_facts():
    """What compiling an extension against this torch needs."""
    standard = re.search(r"'-std=(c\+\+\d+)'", pathlib.Path(cpp_extension.__file__).read_text())
    return ops.BuildFacts(version=torch.__version__, include_paths=cpp_extension.include_paths(),
                          python_include=sysconfig.get_path("include"), library_path=cpp_extension.TORCH_LIB_PATH,
                          standard=standard.group(1) if standard else "c++17", nvrtc=find_nvrtc(), libraries=find_libraries())


def find_nvrtc():
    """The runtime compiler that this PyTorch brings, or "": then the library looks for the toolkit's."""
    found = sorted(path for place in sys.path for path in glob.glob(f"{place}/nvidia/*/lib/libnvrtc.so.1?"))
    return found[-1] if found else ""


def find_cupti():
    """The profiling library that this PyTorch brings, else the toolkit's; of PyTorch's version of CUDA if there is a choice."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    places = [f"{place}/nvidia/*/lib" for place in sys.path] + [f"{home}/extras/CUPTI/lib64", f"{home}/lib64", f"{home}/lib"]
    found = [path for place in places for path in sorted(glob.glob(f"{place}/libcupti.so.1?"))]
    same = [path for path in found if path.endswith(f".{(torch.version.cuda or '').split('.')[0]}")]
    return (same + found + [""])[0]


def find_libraries():
    """What CUDA code of candidates may use, by name. PyTorch's own first, which the reference uses, else the toolkit's; what is headers
    alone where a variable says (HeaderLibraries() in src/judge/devices/cuda/cuda_libraries.cc), CUTLASS also as a package."""
    major = (torch.version.cuda or "").split(".")[0]
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    roots = [root for place in sys.path for root in sorted(glob.glob(f"{place}/nvidia/*"), reverse=True)] + [home]
    wanted = {"cublas": ("cublas_v2.h", [f"libcublas.so.{major}", f"libcublasLt.so.{major}"]), "cudnn": ("cudnn.h", ["libcudnn.so.9"])}
    found = {}
    for name, (header, files) in wanted.items():
        include = next((f"{root}/include" for root in roots if os.path.exists(f"{root}/include/{header}")), None)
        folder = next((f"{root}/{lib}" for root in roots for lib in ("lib", "lib64")
                       if all(os.path.exists(f"{root}/{lib}/{file}") for file in files)), None)
        if major and include and folder:
            found[name] = ops.BuildFacts.Library(include=include, files=[f"{folder}/{file}" for file in files])
    headers = {"cutlass": ("cutlass/cutlass.h", ("KERNELBENCH_CUTLASS", "CUTLASS_PATH"), [f"{place}/cutlass_library/source" for place in sys.path]),
               "thunderkittens": ("kittens.cuh", ("KERNELBENCH_THUNDERKITTENS", "THUNDERKITTENS_ROOT", "THUNDERKITTENS_PATH"), [])}
    for name, (header, variables, others) in headers.items():
        named = [os.environ[key] for key in variables if os.environ.get(key)]
        include = next((f"{root}/include" for root in named + others if os.path.exists(f"{root}/include/{header}")), None)
        if include:
            found[name] = ops.BuildFacts.Library(include=include, files=[])
    return found
