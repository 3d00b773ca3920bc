// The rules for Python, each with what it finds and what it must leave alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/static/test_util.h"

namespace kb {
namespace {

void Expect(const std::vector<RuleCase>& cases) { ExpectFound(cases, SourceKind::kPython); }

TEST(PythonRules, WordsInCommentsDocstringsAndLongerNamesMeanNothing) {
  Expect({
      {"# two-pass: try, except, threading.Thread, torch.mm(a, b)\nx = 1\n", {}},
      {"def f(x):\n    \"\"\"A two-pass algorithm; bypass, torch.cuda.Event = None, exec('x').\"\"\"\n    return x\n",
       {}},
      {"my_thread_count = 4\nbypass = two_pass = try_again = my_thread_count\n", {}},
      {"def f(stream, signal, socket, time):\n    return stream.size + signal.kill + socket.x + time.y\n", {}},
      {"class Timer:\n    def elapsed(self):\n        self.elapsed_time = 3\n        self.time = 1\n", {}},
      {"import re\np = re.compile('a')\nm = model.eval()\n", {}},
      {"import torch.nn as nn\nclass ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n", {}},
      {"message = 'set LD_PRELOAD, then threading.Thread(target=f)'\n", {}},
      {"import time\nstart = time.perf_counter()\n", {}},
      {"import gc\ngc.collect()\n", {}},
      {"import os\npath = os.path.join(os.environ['HOME'], 'x')\n", {}},
  });
}

TEST(PythonRules, CodeBypass) {
  Expect({
      {"def f(x):\n    try:\n        return k(x)\n    except Exception:\n        return x\n", {"code_bypass:2"}},
      {"class Model: ...\nclass ModelNew(Model):\n    pass\n", {"code_bypass:3"}},
      {"def f(x):\n    pass\n", {"code_bypass:2"}},
      {"import contextlib\nwith contextlib.suppress(Exception):\n    f()\n", {"code_bypass:2"}},
      {"try:\n    import triton\nexcept ImportError:\n    pass\n", {}},
      {"try:\n    from a import b\nexcept ImportError:\n    b = None\n", {}},
      {"class Wrong(Exception):\n    pass\n", {}},
      {"try:\n    f()\nfinally:\n    g()\n", {}},
      {"try:\n    f()\nexcept OSError as e:\n    raise ValueError('x') from e\n", {}},
  });
}

TEST(PythonRules, TimingEventPatch) {
  Expect({
      {"import torch\ntorch.cuda.Event.elapsed_time = lambda a, b: 0.1\n", {"timing_event_patch:2"}},
      {"import torch\ntorch.cuda.synchronize = lambda: None\n", {"timing_event_patch:2"}},
      {"import torch as t\nt.cuda.Event = Fake\n", {"timing_event_patch:2"}},
      {"import torch.cuda as c\nc.Event.record = f\n", {"timing_event_patch:2"}},
      {"from torch.cuda import Event\nEvent.elapsed_time = f\n", {"timing_event_patch:2"}},
      {"import torch\nsetattr(torch.cuda.Event, 'elapsed_time', f)\n", {"timing_event_patch:2"}},
      {"import torch\nsetattr(torch.cuda, 'synch' + 'ronize', f)\n", {"timing_event_patch:2"}},
      {"import torch\nname = 'synchronize'\nsetattr(torch.cuda, name, f)\n", {"timing_event_patch:3"}},
      {"import time\ntime.perf_counter, time.time = f, f\n", {"timing_event_patch:2"}},
      {"import time\ntime.__dict__['perf_counter'] = f\n", {"timing_event_patch:2"}},
      {"import sys\nsys.modules['time'].perf_counter = f\n", {"timing_event_patch:2"}},
      {"__import__('time').time = f\n", {"timing_event_patch:1"}},
      {"import torch\nE = type(torch.cuda.Event())\nE.elapsed_time = f\n", {"timing_event_patch:3"}},
      {"from unittest import mock\nmock.patch('torch.cuda.synchronize', f)\n",
       {"monkey_patch:2", "timing_event_patch:2"}},
      {"import torch\nevent = torch.cuda.Event()\nevent.__class__.elapsed_time = f\n", {"timing_event_patch:3"}},
      {"import torch\nevent = torch.cuda.Event()\nevent.elapsed_time = f\n", {"timing_event_patch:3"}},
      {"import torch\nsetattr(type(torch.cuda.Event()), 'elapsed_time', f)\n", {"timing_event_patch:2"}},
      {"import torch\nsetattr(torch.cuda.Event(), 'elapsed_time', f)\n", {"timing_event_patch:2"}},
      {"def g(clock):\n    clock.perf_counter = f\n", {"timing_event_patch:2"}},
      {"import torch\nevent = torch.cuda.Event()\nms = event.elapsed_time(event)\n", {}},
      {"import torch\nms = torch.cuda.Event.elapsed_time(a, b)\nms = [s.elapsed_time(e) for s, e in pairs]\n", {}},
      {"def g(config, start, end):\n    config.elapsed_time = start.elapsed_time(end)\n", {}},
      {"def g(config, ms):\n    setattr(config, 'elapsed_time', ms)\n", {}},
      {"class T:\n    def elapsed_time(self):\n        return self.start.elapsed_time(self.end)\n", {}},
      {"import torch\ntorch.cuda.synchronize()\n", {}},
  });
}

TEST(PythonRules, ThreadInjection) {
  Expect({
      {"import threading\nthreading.Thread(target=f).start()\n", {"thread_injection:2"}},
      {"from threading import Thread as T\nT(target=f)\n", {"thread_injection:2"}},
      {"from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as p:\n    p.map(f)\n",
       {"thread_injection:2"}},
      {"import multiprocessing as mp\nmp.Process(target=f)\n", {"thread_injection:2"}},
      {"class T(__import__('threading').Thread):\n    x = 1\n", {"thread_injection:1"}},
      {"import threading\nlock = threading.Lock()\n", {}},
      {"num_threads = 256\nthreads = (num_threads, 1, 1)\n", {}},
  });
}

TEST(PythonRules, LazyEval) {
  Expect({
      {"import torch\nclass Later(torch.Tensor):\n    x = 1\n", {"lazy_eval:2"}},
      {"from torch import Tensor\nclass Later(Tensor):\n    x = 1\n", {"lazy_eval:2"}},
      {"def __torch_function__(cls, func, types):\n    return 1\n", {"lazy_eval:1"}},
      {"import torch\ny = torch.Tensor._make_subclass(C, x)\n", {"lazy_eval:2"}},
      {"y = x.as_subclass(C)\n", {"lazy_eval:1"}},
      {"from torch.utils._python_dispatch import TorchDispatchMode\nclass M(TorchDispatchMode):\n    x = 1\n",
       {"lazy_eval:2"}},
      {"import torch\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return x\n", {}},
  });
}

TEST(PythonRules, PytorchWrap) {
  const std::string head = "import torch.nn as nn\nclass ModelNew(nn.Module):\n  def __init__(self):\n";
  Expect({
      {(head + "    self.fc = nn.Linear(3, 4)\n  def forward(self, x):\n    return self.fc(x)\n").c_str(),
       {"pytorch_wrap:6"}},
      {(head + "    fc = nn.Linear(3, 4)\n    self.fc = fc\n  def forward(self, x):\n    return run(self.fc, x)\n")
           .c_str(),
       {"pytorch_wrap:7"}},
      {(head + "    self.fs = nn.ModuleList([nn.Conv2d(1, 1, 1)])\n  def forward(self, x):\n"
               "    for f in self.fs:\n      x = f(x)\n    return self.fs[0](x)\n")
           .c_str(),
       {"pytorch_wrap:7", "pytorch_wrap:8"}},
      {"from torch.nn import ReLU\ny = ReLU()(x)\n", {"pytorch_wrap:2"}},
      {"import torch\nclass ModelNew(torch.nn.Linear):\n    x = 1\n", {"pytorch_wrap:2"}},
      {(head + "    self.fc = nn.Linear(3, 4)\n  def forward(self, x):\n    return k(x, self.fc.weight)\n").c_str(),
       {}},
      {(head + "    self.w = nn.Parameter(w)\n    self.ws = nn.ParameterList()\n").c_str(), {}},
  });
}

TEST(PythonRules, TorchComputationOpsUnderEveryName) {
  Expect({
      {"import torch as t\ny = t.matmul(a, b)\n", {"torch_computation_ops:2"}},
      {"from torch import addmm as f\ny = f(c, a, b)\n", {"torch_computation_ops:2"}},
      {"import torch.nn.functional as F\ny = F.linear(x, w)\n", {"torch_computation_ops:2"}},
      {"import torch\ny = getattr(torch, 'addmm')(c, a, b)\n", {"torch_computation_ops:2"}},
      {"import torch\nmm = torch.mm\ny = mm(a, b)\n", {"torch_computation_ops:2", "torch_computation_ops:3"}},
      {"import torch\ny = torch.ops.aten.mm(a, b)\n", {"torch_computation_ops:2"}},
      {"import torch\ny = torch.Tensor.matmul(a, b)\n", {"torch_computation_ops:2"}},
      {"import torch\ny = torch.__dict__['mm'](a, b)\n", {"torch_computation_ops:2"}},
      {"import functools, torch\nf = functools.partial(torch.bmm, a)\n", {"torch_computation_ops:2"}},
      {"from torch import *\ny = einsum('ij,jk', a, b)\nn = len(y)\n", {"torch_computation_ops:2"}},
      {"def f(a, b):\n    return a @ b\n", {"torch_computation_ops:2"}},
      {"def f(a, b):\n    a @= b\n    return a.addmm(a, b)\n", {"torch_computation_ops:2", "torch_computation_ops:3"}},
      {"import torch\ny = torch.empty(3).softmax(0)\n", {"torch_computation_ops:2"}},
      {"import torch\nclass M:\n    def __init__(self):\n        self.f = torch.mm\n    def g(self, a):\n"
       "        return self.f(a, a)\n",
       {"torch_computation_ops:4", "torch_computation_ops:6"}},
      {"import torch\ny = torch.empty_like(x)\nz = x.view(-1).contiguous()\n", {}},
      {"import torch.nn.functional as F\ny = F.pad(x, (0, 1))\n", {}},
      {"import triton, triton.language as tl\n@triton.jit\ndef k(a, b):\n    tl.store(a, tl.dot(a, b) @ b)\n", {}},
      {"@decorator\ndef f(x):\n    return x\n", {}},
  });
}

TEST(PythonRules, StreamInjectionAndPrecisionAndCompile) {
  Expect({
      {"import torch\ns = torch.cuda.Stream()\nwith torch.cuda.stream(s):\n    f()\n",
       {"stream_injection:2", "stream_injection:3"}},
      {"x.record_stream(s)\n", {"stream_injection:1"}},
      {"import torch\ns = torch.cuda.current_stream().cuda_stream\n", {}},
      {"y = x.half()\n", {"precision_downgrade:1"}},
      {"import torch\ny = x.to(torch.bfloat16)\n", {"precision_downgrade:2"}},
      {"import torch\nwith torch.autocast('cuda'):\n    f()\n", {"precision_downgrade:2"}},
      {"import torch\nassert x.dtype == torch.float16\n", {}},
      {"half = n // 2\n", {}},
      {"import torch\nf = torch.compile(g)\n", {"torch_compile:2"}},
      {"import torch\n@torch.jit.script\ndef f(x):\n    return x\n", {"torch_compile:2"}},
  });
  StaticOptions half = AllRules();
  half.precision = "fp16";
  EXPECT_TRUE(Found("y = x.half()\n", SourceKind::kPython, half).empty());
}

TEST(PythonRules, MonkeyPatch) {
  Expect({
      {"import torch\ntorch.allclose = lambda *a: True\n", {"monkey_patch:2"}},
      {"import torch\nfor torch.allclose in fs:\n    f()\n", {"monkey_patch:2"}},
      {"import torch\ndel torch.Tensor.add\n", {"monkey_patch:2"}},
      {"import builtins\nbuiltins.print = f\n", {"monkey_patch:2"}},
      {"import sys\nsys.modules['torch'] = fake\n", {"monkey_patch:2"}},
      {"import torch\nvars(torch)['allclose'] = f\n", {"monkey_patch:2"}},
      {"import torch\ntorch.__dict__.update(allclose=f)\n", {"monkey_patch:2"}},
      {"import torch\nsetattr(torch, name, f)\n", {"monkey_patch:2"}},
      {"import torch\ntype.__setattr__(torch.Tensor, 'add', f)\n", {"monkey_patch:2"}},
      {"import torch\nlib = torch.library.Library('aten', 'IMPL')\n", {"monkey_patch:2"}},
      {"f.__code__ = g.__code__\n", {"monkey_patch:1"}},
      {"import sys\nsys.modules[name] = module\nsys.path.insert(0, 'x')\n", {}},
      {"class M:\n    def __init__(self):\n        setattr(self, 'weight', 1)\n        self.torch = 2\n", {}},
      {"import torch\nx = torch.empty(3)\nx.requires_grad = False\n", {}},
  });
}

TEST(PythonRules, ItsOwnFrameMayBeAskedWhereItIs) {
  Expect({
      {"import inspect\nline = inspect.currentframe().f_lineno\n", {}},
      {"import sys\nline = sys._getframe().f_lineno, sys._getframe(0).f_code.co_name\n", {}},
      {"import inspect\nframe = inspect.currentframe()\nif frame is not None:\n    n = frame.f_lineno\ndel frame\n",
       {}},
      {"from inspect import currentframe, getframeinfo\nline = getframeinfo(currentframe()).lineno\n", {}},
      {"import inspect\nframe = inspect.currentframe().f_back\n", {"frame_access:2"}},
      {"import inspect\nframe = inspect.currentframe()\nname = frame.f_locals\n", {"frame_access:3"}},
      {"import inspect\nname = inspect.currentframe().f_globals['x']\n", {"frame_access:2"}},
      {"import inspect\nframe = inspect.currentframe()\nf(frame)\n", {"frame_access:3"}},
      {"import inspect\nf(inspect.currentframe())\n", {"frame_access:2"}},
      {"import inspect\nback = getattr(inspect.currentframe(), 'f_' + x)\n", {"frame_access:2"}},
      {"import inspect\nframe = inspect.currentframe()\nback = getattr(frame, 'f_' + x)\n", {"frame_access:3"}},
      {"import inspect\nframe = inspect.currentframe()\nback = frame.__getattribute__(x)\n", {"frame_access:3"}},
      {"import inspect\nf = inspect.currentframe\n", {"frame_access:2"}},
      {"import sys\nframe = sys._getframe(1)\n", {"frame_access:2"}},
      {"import sys\nline = sys._getframe(depth).f_lineno\n", {"frame_access:2"}},
  });
}

TEST(PythonRules, WhatElseUpstreamMisses) {
  Expect({
      {"import gc\nfor o in gc.get_objects():\n    f(o)\n", {"frame_access:2"}},
      {"import sys\nf = sys._getframe(1).f_back\n", {"frame_access:2"}},
      {"import inspect\ns = inspect.stack()\n", {"frame_access:2"}},
      {"import __main__\nf = __main__.check\n__main__.check = g\n", {"frame_access:2", "monkey_patch:3"}},
      {"exec('x' + y)\n", {"dynamic_code:1"}},
      {"f = eval\nf('1 + 1')\n", {"dynamic_code:1", "dynamic_code:2"}},
      {"import ctypes\nlib = ctypes.CDLL('libcudart.so')\n", {"dynamic_loading:2"}},
      {"import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n", {"environment:2"}},
      {"from os import environ\nenviron.update(A='b')\n", {"environment:2"}},
      {"import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n", {"process_control:2"}},
      {"import subprocess\nsubprocess.run(['pkill', 'python'])\n", {"process_control:2"}},
      {"import signal\nsignal.signal(signal.SIGALRM, f)\n", {"process_control:2"}},
      {"import socket\ns = socket.socket()\n", {"network:2"}},
      {"from urllib.request import urlopen\nurlopen('http://example.org')\n", {"network:2"}},
      {"text = open('/etc/passwd').read()\n", {"file_access:1"}},
      {"import mmap\nm = mmap.mmap(-1, 4)\n", {"foreign_memory:2"}},
      {"import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n", {"global_flags:2"}},
      {"import torch\ntorch.set_float32_matmul_precision('high')\n", {"global_flags:2"}},
  });
}

TEST(PythonRules, CodeInsideExecIsReadToo) {
  const std::string text = "code = '''import torch\ntorch.cuda.synchronize = f\n'''\nexec(code)\n";
  EXPECT_THAT(Found(text, SourceKind::kPython), testing::ElementsAre("timing_event_patch:2", "dynamic_code:4"));
}

TEST(PythonRules, Backends) {
  const std::string triton =
      "import triton, triton.language as tl\n@triton.jit\ndef k(x):\n    tl.store(x, 1)\n"
      "class ModelNew:\n    def forward(self, x):\n";
  const std::string inline_of = "from torch.utils.cpp_extension import load_inline\nm = load_inline('m', ";
  const std::string kernel = "__global__ void k(float* x) { x[0] = 1; }";
  const struct {
    const char* backend;
    std::string text;
    std::vector<std::string> found;
  } cases[] = {
      {"triton", triton + "        k[(1,)](x)\n", {}},
      {"triton", triton + "        return x\n", {"triton_impl:5"}},
      {"triton", "import triton\nclass ModelNew:\n    x = 1\n", {"triton_impl:2"}},
      {"cuda", inline_of + "'', '" + kernel + " void f() { k<<<1, 1>>>(p); }')\n", {}},
      {"cuda", inline_of + "'', '" + kernel + "')\n", {"cuda_impl:1"}},
      {"cuda", inline_of + "'', cuda_sources='// __global__ k<<<1, 1>>>()\\nint f();')\n", {"cuda_impl:1"}},
      {"cuda", inline_of + "'', source_of(3))\n", {}},
      {"hip", inline_of + "'', '#include <hip/hip_runtime.h>\\n" + kernel + " void f() { k<<<1, 1>>>(p); }')\n", {}},
      {"hip", inline_of + "'', '" + kernel + " void f() { k<<<1, 1>>>(p); }')\n", {"hip_impl:1"}},
      {"cpp", inline_of + "'void f(float* x) { for (int i = 0; i < 3; ++i) x[i] = 0; }')\n", {}},
      {"cpp", inline_of + "'int f() { return 1; }')\n", {"cpp_impl:1"}},
      {"thunderkittens", inline_of + "'', '#include \"kittens.cuh\"\\n" + kernel + "')\n", {}},
      {"thunderkittens", inline_of + "'', '" + kernel + "')\n", {"tk_impl:1"}},
      {"cute", "import cutlass.cute as cute\n@cute.kernel\ndef k(x):\n    x[0] = 1\n", {}},
      {"cute", inline_of + "'', '" + kernel + "')\n", {"cute_impl:1"}},
      {"tilelang", "import tilelang.language as T\n@T.prim_func\ndef k(x):\n    x[0] = 1\n", {}},
      {"tilelang", "import tilelang\nclass ModelNew:\n    x = 1\n", {"tilelang_impl:2"}},
      {"torch", "class ModelNew:\n    x = 1\n", {"no_kernel:1"}},
  };
  for (const auto& each : cases) {
    EXPECT_THAT(Found(each.text, SourceKind::kPython, AllRules(each.backend)), testing::ElementsAreArray(each.found))
        << each.backend << "\n"
        << each.text;
  }
}

}  // namespace
}  // namespace kb
