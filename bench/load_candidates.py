"""Problems and right candidates of known ratio, for bench/load.py.

A problem does one operation several times over, where once would give the same answer: a ReLU, of which the passes after the first change
nothing, or a product of the same two matrices. A candidate does it half as often, as often, or half as often again, so that it has to be
twice as fast, as fast, or two thirds as fast, as far as its passes take as long as PyTorch's.
"""

import dataclasses
import pathlib

from fallback import source

RATIOS = {"2": (1, 2), "1": (1, 1), "2/3": (3, 2)}  # by name the candidate's passes, as (numerator, denominator) of the reference's
RELU_HEAD = '''"""ReLU, {passes} times over: each pass after the first changes nothing.

    y = max(x, 0)

Input: x, (ELEMENTS,). Output: y, the same shape.
"""
import torch
import torch.nn as nn

ELEMENTS = {size}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
COLLAPSES = "one pass is enough"


def get_inputs():
    return [torch.randn(ELEMENTS)]


def get_init_inputs():
    return []
'''
RELU = '''

class {name}(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        for _ in range({passes} - 1):
            torch.relu_(y)
        return y
'''
PRODUCT_HEAD = '''"""Product of two square matrices, computed {passes} times.

    C[i, j] = sum over k of A[i, k] * B[k, j]

Inputs: A and B, both (N, N). Output: C, (N, N).
"""
import torch
import torch.nn as nn

N = {size}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")
COLLAPSES = "one product is enough"


def get_inputs():
    return [torch.rand(N, N), torch.rand(N, N)]


def get_init_inputs():
    return []
'''
PRODUCT = '''

class {name}(nn.Module):
    def forward(self, a, b):
        c = torch.mm(a, b)
        for _ in range({passes} - 1):
            torch.mm(a, b, out=c)
        return c
'''
IMPORTS = "import torch\nimport torch.nn as nn\n"
CPP = """#include <kernelbench/kernel.h>

KB_EXPORT int kb_forward(const kb_call* call) {{
  const int64_t n = call->inputs[0].shape[0];
  const float* from = static_cast<const float*>(call->inputs[0].data);
  float* out = static_cast<float*>(call->outputs[0].data);
  for (int pass = 0; pass < {passes}; ++pass) {{
#pragma omp parallel for simd if (parallel : n >= 32768)
    for (int64_t i = 0; i < n; ++i) out[i] = from[i] < 0 ? 0 : from[i];
    from = out;
  }}
  return 0;
}}
"""
CUDA = """#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __device__ float Of(float x) {{ return x > 0 || x != x ? x : 0; }}  // NaN stays NaN

static __global__ void Relu(const float* x, float* y, size_t n) {{
  const size_t quads = n / 4, stride = size_t{{gridDim.x}} * blockDim.x;
  for (size_t i = size_t{{blockIdx.x}} * blockDim.x + threadIdx.x; i < quads; i += stride) {{
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(y)[i] = make_float4(Of(v.x), Of(v.y), Of(v.z), Of(v.w));
  }}
}}

KB_EXPORT int kb_forward(const kb_call* call) {{
  const size_t n = static_cast<size_t>(call->inputs[0].shape[0]);  // a multiple of 1,024
  const float* from = static_cast<const float*>(call->inputs[0].data);
  float* out = static_cast<float*>(call->outputs[0].data);
  const size_t blocks = n / 1024 < 4096 ? n / 1024 : 4096;
  for (int pass = 0; pass < {passes}; ++pass) {{
    Relu<<<static_cast<unsigned>(blocks), 256, 0, static_cast<cudaStream_t>(call->stream)>>>(from, out, n);
    from = out;
  }}
  return static_cast<int>(cudaGetLastError());
}}
"""
TRITON = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.where(value <= 0, 0.0, value), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        relu[grid](x, y, x.numel(), BLOCK=1024)
        for _ in range({passes} - 1):
            relu[grid](y, y, y.numel(), BLOCK=1024)
        return y
'''
SOURCES = {"relu module": IMPORTS + RELU, "product module": IMPORTS + PRODUCT, "relu native": {"cpu": CPP, "cuda": CUDA},
           "relu triton": TRITON}


@dataclasses.dataclass(frozen=True)
class Problem:
    operation: str  # "relu" or "product"
    size: int  # elements, or rows and columns of each matrix
    passes: int  # even

    @property
    def name(self):
        return f"{self.operation} {self.size} x{self.passes}"

    def text(self):
        head, model = (RELU_HEAD, RELU) if self.operation == "relu" else (PRODUCT_HEAD, PRODUCT)
        return head.format(size=self.size, passes=self.passes) + model.format(name="Model", passes=self.passes)


# On an H200 from 5 us to 50 ms. On two cores from 0.1 ms, for the reference's code is cold when it is called; native candidates from 15 us.
PROBLEMS = {
    "cuda": [Problem("relu", 1 << 14, 2), Problem("relu", 1 << 18, 4), Problem("relu", 1 << 21, 8), Problem("relu", 1 << 24, 4),
             Problem("relu", 1 << 26, 4), Problem("relu", 1 << 26, 32), Problem("relu", 1 << 26, 320), Problem("product", 2048, 4)],
    "cpu": [Problem("relu", 1 << 12, 2), Problem("relu", 1 << 14, 4), Problem("relu", 1 << 16, 4), Problem("relu", 1 << 18, 4),
            Problem("relu", 1 << 20, 2), Problem("relu", 1 << 20, 8), Problem("relu", 1 << 22, 2), Problem("relu", 1 << 22, 8),
            Problem("relu", 1 << 22, 64), Problem("product", 256, 4), Problem("product", 1024, 2)],
}
KINDS = {"cuda": ["module", "native", "triton"], "cpu": ["module", "native"]}
BUILT = Problem("relu", 1 << 22, 2)  # of the further candidates, which are built


def pairs(device):
    """(problem, kind, ratio) of each: of a ReLU one of each kind, their ratios in turn; of a product a module of each ratio."""
    for place, problem in enumerate(PROBLEMS[device]):
        if problem.operation == "product":
            yield from ((problem, "module", ratio) for ratio in RATIOS)
        else:
            yield from ((problem, kind, list(RATIOS)[(place + turn) % len(RATIOS)]) for turn, kind in enumerate(KINDS[device]))


def write_candidates(device, folder):
    """Files of problems and candidates; by name of the candidate its row of a manifest that lies in the folder."""
    rows = {}
    for sample, (problem, kind, ratio) in enumerate(pairs(device)):
        suffix = {"native": ".cpp" if device == "cpu" else ".cu"}.get(kind, ".py")
        numerator, denominator = RATIOS[ratio]
        text = SOURCES[f"{problem.operation} {kind}"]
        text = text if isinstance(text, str) else text[device]
        path = folder / f"candidate_{sample}{suffix}"
        path.write_text(text.format(name="ModelNew", passes=problem.passes * numerator // denominator))
        row = {"problem": str(write_problem(problem, folder)), "path": path.name, "sample": sample}
        if kind == "module":  # PyTorch's own passes, so that whatever one takes the ratio is between 1 and this; the engine ignores the key
            row["possible"] = sorted((1, denominator / numerator))
        rows[f"{problem.name}, {kind}, {ratio}"] = row
    return rows


def write_problem(problem, folder):
    file = pathlib.Path(folder).resolve() / f"{problem.name.replace(' ', '_')}.py"
    file.write_text(problem.text())
    return file


def build_rows(device, folder, first, count):
    """Rows of modules of a ReLU that have a load_inline of their own, each of another text; `first` is the first one's number."""
    file = write_problem(BUILT, folder)
    numbers = range(first, first + count)
    return [{"problem": str(file), "sample": number, "code": source("compile", device, number)} for number in numbers]
