#!/usr/bin/env python3
"""What Inductor wrote becomes a candidate. A machine without a GPU has Inductor write C++, which is captured and run all the same; how a
Triton kernel is taken out of its text is tried on a text."""
import ast
import os
import pathlib
import sys
import tempfile
import types
import unittest

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import torch  # noqa: E402
from kernelbench_torch import inductor_capture, inductor_text, problem, trees  # noqa: E402
from kernelbench_torch.inductor_text import Launch, NoPair  # noqa: E402

ORIGINAL = """
import torch
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.select_algorithm import extern_kernels
import triton
import triton.language as tl
from torch._C import _cuda_getCurrentRawStream as get_raw_stream

aten = torch.ops.aten
assert_size_stride = torch._C._dynamo.guards.assert_size_stride
empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cuda
reinterpret_tensor = torch._C._dynamo.guards._reinterpret_tensor
_tensor_constant0 = None  # of another module
async_compile = AsyncCompile()


# kernel path: /tmp/a.py
triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(size_hints={'x': 64}, filename=__file__, inductor_meta={'grid_type': 'Grid1D'})
@triton.jit
def triton_poi_fused_relu_0(in_out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 64
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    tmp0 = tl.load(in_out_ptr0 + (xindex), xindex < xnumel)  # a comment
    tl.store(in_out_ptr0 + (xindex), triton_helpers.maximum(tl.full([1], 0, tl.int32), tmp0), xindex < xnumel)
''', device_str='cuda')


async_compile.wait(globals())
del async_compile

def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    assert_size_stride(arg0_1, (8, 8), (8, 1))
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        buf0 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [y], Original ATen: [aten.mm]
        extern_kernels.mm(arg1_1, arg0_1, out=buf0)
        del arg0_1
        buf1 = buf0; del buf0  # reuse
        raw_stream0 = get_raw_stream(0)
        triton_poi_fused_relu_0.run(buf1, 64, stream=raw_stream0)
    return (buf1, )


def benchmark_compiled_module(args, times=10, repeat=10):
    return None


if __name__ == "__main__":
    args = get_args()
"""
PROBLEM = """
import torch
from torch import nn

WIDTH = 4
SIZES = {"small": {"WIDTH": 8}}


def layer(width):
    return nn.Linear(width, width)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.layers = nn.ModuleList([layer(WIDTH), layer(WIDTH)])
        self.heads = nn.ModuleDict({"1a": layer(WIDTH)})
        self.norm = nn.BatchNorm1d(WIDTH)
        self.shift = nn.Parameter(torch.rand(WIDTH))
        self.register_buffer("scale", torch.rand(WIDTH), persistent=False)
        self.half = torch.full((WIDTH,), 0.5)
        self.remember()

    def remember(self):
        self.width = WIDTH

    def reference_only(self):
        return WIDTH

    def forward(self, pair, factor=2, *, offset):
        x, y = pair
        for each in self.layers:
            x = torch.relu(each(x))
        x = self.norm(self.heads["1a"](x) * self.scale + self.shift) * self.half
        return {"sum": x + y * factor, "view": x.t(), "others": [(x - offset["by"]).sum(-1), 3]}


def get_inputs():
    return [[[torch.rand(5, WIDTH), torch.rand(5, WIDTH)]], {"offset": {"by": torch.rand(WIDTH)}}]
"""
FORWARD = "class Model(torch.nn.Module):\n    def forward(self, x):\n        {}\n"
ALONE = "import torch\n" + FORWARD + "def get_inputs(): pass\n"


def captured(text, size="standard", inputs=None):
    """(the problem's module, its model, inputs, Inductor's text, the candidate's)."""
    module = problem.module_of(text.encode(), "problem.py", size)
    torch.manual_seed(1)
    model = module.Model()
    inputs = ([inputs], {}) if inputs is not None else trees.arguments(model.forward, module.get_inputs())
    return module, model, inputs, *inductor_capture.capture(module, text, size, model, inputs, "cpu")


def loaded(text):
    module = types.ModuleType("candidate")
    exec(compile(text, "candidate.py", "exec"), module.__dict__)
    return module


class Captured(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cls.directory.name
        torch.set_grad_enabled(False)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def test_the_candidate_answers_as_the_reference_and_has_its_state(self):
        module, _, inputs, original, text = captured(PROBLEM, "small")
        self.assertIn("cpp_fused", original)
        new = loaded(text).ModelNew
        models = []
        for made in (module.Model, new):
            torch.manual_seed(1)
            models.append(made())
        for _ in range(2):  # of which the first changes running statistics
            expected, got = (model(*inputs[0], **inputs[1]) for model in models)
            torch.testing.assert_close(got, expected)
        self.assertEqual(list(models[0].state_dict()), list(models[1].state_dict()))
        torch.testing.assert_close(models[1].state_dict(), models[0].state_dict())
        for said in ("get_inputs", "SIZES", "reference_only", "benchmark_compiled_module", "class Net"):
            self.assertNotIn(said, text)
        forward = next(each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef) and each.name == "forward")
        self.assertNotIn("relu", ast.unparse(forward))

    def test_a_problems_text_has_the_constants_of_its_size(self):
        text = inductor_capture.at_size(PROBLEM, inductor_capture._constants(problem.module_of(PROBLEM.encode(), "p.py", "small"), "small"))
        self.assertEqual(problem.module_of(text.encode(), "p.py", "standard").Model().width, 8)
        self.assertEqual(inductor_capture.at_size(PROBLEM, {}), PROBLEM)

    def test_nothing_to_compile_is_no_pair(self):
        with self.assertRaisesRegex(NoPair, "nothing in it"):
            captured(ALONE.format("return x"), inputs=torch.rand(4, 3))

    def test_a_graph_that_breaks_is_told(self):
        with self.assertRaises(torch._dynamo.exc.Unsupported):
            captured(ALONE.format("print(x.sum().item()); return x"), inputs=torch.rand(4, 3))


class Texts(unittest.TestCase):
    LAUNCH = Launch("triton_poi_fused_relu_0", 2, (2, 1, 1), {"XBLOCK": 32, "num_warps": 1, "num_stages": 1})
    SOURCE = "import torch\nimport math\n" + FORWARD.format("return torch.relu(x @ x)")
    BODY = "arg0_1 = x\narg1_1 = x\noutput = call([arg0_1, arg1_1])\nreturn output[0]"

    def candidate(self, original=ORIGINAL, launches=(LAUNCH,), source=SOURCE, model="Model"):
        return inductor_text.candidate(source, model, {}, self.BODY, original, list(launches))

    def test_a_triton_kernel_is_a_function_with_a_launch(self):
        text = self.candidate()
        tree = ast.parse(text)
        functions = {each.name: each for each in tree.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
        self.assertEqual(list(functions), ["triton_poi_fused_relu_0", "call", "ModelNew"])
        self.assertEqual([ast.unparse(each) for each in functions["triton_poi_fused_relu_0"].decorator_list], ["triton.jit"])
        launch = "triton_poi_fused_relu_0[2, 1, 1](buf1, 64, XBLOCK=32, num_warps=1, num_stages=1)"
        self.assertIn(launch, [ast.unparse(each) for each in ast.walk(functions["call"]) if isinstance(each, ast.Expr)])
        for said in ("async_compile", "get_raw_stream", "triton_heuristics", "set_driver", "aten", "__main__", "#", "import math", "None"):
            self.assertNotIn(said, text)
        defined = {name for each in tree.body for name in inductor_text._Item(each).names()}
        needed = set().union(*(inductor_text._Item(each).needs() for each in tree.body))
        self.assertLessEqual(needed - defined, {"super"})

    def test_what_helps_a_kernel_comes_with_it_under_a_name_of_its_own(self):
        helped = ORIGINAL.replace("@triton_heuristics.pointwise", "@triton.jit\ndef _helper_fn0(a, b):\n    return a + b\n\n@triton_heuristics.pointwise")
        text = self.candidate(helped.replace("tmp0 = tl", "tmp0 = _helper_fn0(1, 2) + tl"))
        self.assertIn("def triton_poi_fused_relu_0_helper_fn0(a, b):", text)
        self.assertIn("tmp0 = triton_poi_fused_relu_0_helper_fn0(1, 2) + ", text)
        with self.assertRaisesRegex(NoPair, "nothing defines _helper_fn0"):
            self.candidate(ORIGINAL.replace("tmp0 = tl", "tmp0 = _helper_fn0(1, 2) + tl"))

    def test_kernels_and_parameters_are_found(self):
        self.assertEqual(inductor_text.kernels_of(ORIGINAL), ["triton_poi_fused_relu_0"])
        self.assertEqual(inductor_text.parameters_of(ORIGINAL), ["arg0_1", "arg1_1"])
        self.assertEqual(inductor_text.parameters_of("def call(args):\n    return ()\n"), [])

    def test_launches_that_are_not_those_of_the_text_are_no_pair(self):
        other = Launch("triton_poi_fused_relu_1", 2, (1, 1, 1), {})
        for launches in ((), (other,), (self.LAUNCH, self.LAUNCH)):
            with self.assertRaisesRegex(NoPair, "one after the other"):
                self.candidate(launches=launches)

    def test_a_constant_tensor_is_no_pair(self):
        with self.assertRaisesRegex(NoPair, "_tensor_constant0"):
            self.candidate(ORIGINAL.replace("args.clear()", "args.clear(); arg1_1 = _tensor_constant0"))

    def test_a_name_of_both_is_no_pair(self):
        with self.assertRaisesRegex(NoPair, "both define call"):
            self.candidate(source=self.SOURCE.replace("torch.nn.Module", "call()") + "def call(): return torch.nn.Module\n")

    def test_a_class_that_cannot_be_rewritten_is_no_pair(self):
        for source, said in (("import torch\nModel = torch.nn.ReLU\n", "no class Model"),
                             ("import torch\nclass Model(torch.nn.ReLU):\n    pass\n", "does not define forward")):
            with self.assertRaisesRegex(NoPair, said):
                self.candidate(source=source)


if __name__ == "__main__":
    unittest.main()
