#!/usr/bin/env python3
"""What a module runner and what calls it under a tool do on a GPU, as far as it can be tried without one.

    tracing_test.py RUNNER_LIBRARY FAKE_CUPTI
"""
import ctypes
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from kernelbench_torch import device_facts, module_runner, ops, runner_library, runner_spec, trees, under_tool  # noqa: E402

LIBRARY, CUPTI = sys.argv[1], sys.argv[2]
SOURCE = """
import torch
class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, 2)
    def forward(self, x, index):
        assert 0.0 != float(x.abs().sum()) and int(index.max()) == 0
        seen.append(self.linear(x)[index])
seen = []
"""


class Tracing(unittest.TestCase):
    def setUp(self):
        self.library = runner_library.load(LIBRARY)
        self.page = (ctypes.c_char * (72 << 10))()
        self.mailbox = module_runner.Mailbox(self.library, ctypes.addressof(self.page), [(torch.float32, torch.Size([2]))])
        self.runner = mock.Mock()
        self.runner.forward_unanswered.return_value = [0]

    def test_kernels_are_part_of_the_next_report_alone(self):
        said, offsets = module_runner.traced(self.library, self.runner, 7, CUPTI)
        self.runner.forward_unanswered.assert_called_once_with(7)
        self.assertEqual((said, offsets), ("", [0]))
        self.mailbox.write(text=said, offsets=offsets)
        self.assertIn(b"relu<float>", bytes(self.page))
        self.page[:] = bytes(len(self.page))
        self.mailbox.write()
        self.assertNotIn(b"relu<float>", bytes(self.page))

    def test_without_cupti_the_call_is_made_and_the_reason_told(self):
        said, offsets = module_runner.traced(self.library, self.runner, 7, "")
        self.assertIn("CUPTI", said)
        self.assertEqual(offsets, [0])


class FindCupti(unittest.TestCase):
    def test_of_pytorchs_own_version_first(self):
        with tempfile.TemporaryDirectory() as place, mock.patch.object(sys, "path", [place]), \
                mock.patch.dict("os.environ", CUDA_HOME=f"{place}/toolkit"):
            self.assertEqual(device_facts.find_cupti(), "")
            for name in ("toolkit/extras/CUPTI/lib64/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.12"):
                path = pathlib.Path(place, name)
                path.parent.mkdir(parents=True)
                path.touch()
            for version, folder in (("13.0", "toolkit"), ("12.8", "nvidia"), (None, "nvidia")):
                with mock.patch.object(torch.version, "cuda", version):
                    self.assertIn(folder, device_facts.find_cupti().removeprefix(place))


class Libraries(unittest.TestCase):
    def test_pytorchs_own_then_the_toolkits(self):
        with tempfile.TemporaryDirectory() as place, mock.patch.object(sys, "path", [place]), mock.patch.object(torch.version, "cuda", "13.0"), \
                mock.patch.dict("os.environ", CUDA_HOME=f"{place}/toolkit", CUTLASS_PATH=f"{place}/cutlass"):
            self.assertEqual(device_facts.find_libraries(), {})

            def put(*names):
                for name in names:
                    path = pathlib.Path(place, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.touch()
            put("toolkit/include/cublas_v2.h", "toolkit/lib64/libcublas.so.13")
            self.assertEqual(device_facts.find_libraries(), {}, "cuBLASLt is missing")
            put("toolkit/lib64/libcublasLt.so.13", "nvidia/cudnn/include/cudnn.h", "nvidia/cudnn/lib/libcudnn.so.9")
            found = device_facts.find_libraries()
            self.assertEqual(vars(found["cublas"]), {"include": f"{place}/toolkit/include", "files":
                                                     [f"{place}/toolkit/lib64/libcublas.so.13", f"{place}/toolkit/lib64/libcublasLt.so.13"]})
            self.assertEqual(found["cudnn"].files, [f"{place}/nvidia/cudnn/lib/libcudnn.so.9"])
            put("nvidia/cu13/lib/libcublas.so.13", "nvidia/cu13/lib/libcublasLt.so.13", "cutlass/include/cutlass/cutlass.h")
            found = device_facts.find_libraries()
            self.assertEqual(found["cublas"].files[0], f"{place}/nvidia/cu13/lib/libcublas.so.13")
            self.assertEqual(found["cublas"].include, f"{place}/toolkit/include", "wherever headers are")
            self.assertEqual(vars(found["cutlass"]), {"include": f"{place}/cutlass/include", "files": []})
            with mock.patch.object(torch.version, "cuda", "12.8"):
                self.assertNotIn("cublas", device_facts.find_libraries(), "of another release")


class UnderTool(unittest.TestCase):
    def test_calls_a_module_on_inputs_of_the_problems_form(self):
        tensors = []
        structure = trees.flatten(([torch.zeros(3, 4), torch.zeros(3, dtype=torch.int64)], {}), tensors, "inputs")
        form = ops.ProblemForm(inputs=trees.layout(tensors)[0], outputs=[], parameters=[], structure=structure, output_structure={},
                               init=trees.flatten(([4], {}), [], "init"), scalars=[], init_scalars=[], may_alias=True, construct_on="cpu")
        spec = runner_spec.RunnerSpec(device="cpu", threads=1, precision="fp32", form=form, profiler="", events=False, waits=True,
                                      reference=False, source=SOURCE, copy_state=False, arena_bytes=0, output_turns=0, extensions=[], refused=[], may_ask=False,
                                      compiled=False)
        for profiled, calls in ((False, 1), (True, 2)):
            happened = mock.Mock()
            with mock.patch.object(torch.cuda, "synchronize", happened.synchronize), \
                    mock.patch.object(torch.cuda, "cudart", return_value=happened):
                under_tool.call(spec, profiled)
            seen = sys.modules["candidate"].seen
            self.assertEqual([tensor.shape for tensor in seen], calls * [(3, 2)])
            self.assertEqual([call[0] for call in happened.mock_calls],
                             ["synchronize"] + profiled * ["cudaProfilerStart", "synchronize", "cudaProfilerStop"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
