"""Problems in the forms that people bring, and candidates with what each must get: (name, source, verdict, reason, note), the last two
as regular expressions. "" for a note: none of those that this test is about."""

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"
SHIFTED = '''
class {name}(nn.Module):
    def __init__(self, {init}):
        super().__init__()
        self.fc = nn.Linear(12, width)
        self.shift = shift

    def forward(self, x):
        return self.fc(x) + self.shift
'''
ANY = '''
class {name}(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.fc, self.shift = nn.Linear(12, *args), kwargs["shift"]

    def forward(self, x):
        return self.fc(x) + self.shift
'''


def problem(body, inputs="[torch.randn(20, 12)]", init="[]"):
    given = "" if init is None else f"\n\ndef get_init_inputs():\n    return {init}\n"
    return f"{HEAD}{body}\n\ndef get_inputs():\n    return {inputs}\n{given}"


def model(forward, init="pass", name="Model", arguments="x", given=""):
    body = "".join(f"        {line}\n" for line in init.splitlines())
    return (f"class {name}(nn.Module):\n    def __init__(self{given}):\n        super().__init__()\n{body}\n"
            f"    def forward(self, {arguments}):\n" + "".join(f"        {line}\n" for line in forward.splitlines()))


def candidate(*given, **named):
    return HEAD + model(*given, name="ModelNew", **named)


def shifted(name="ModelNew", init="width, shift"):
    return SHIFTED.format(name=name, init=init)


KINDS = {
    "arguments by name": [
        (problem(shifted("Model", "*, width, shift=0.5"), init='[[], {"width": 28, "shift": 0.25}]'),
         [("all", HEAD + shifted(init="*, width, shift=0.5"), "correct", "", "")]),
        (problem(shifted("Model", "width, *, shift"), init='{"shift": 0.25, "width": 28}'),
         [("some", HEAD + shifted(init="width, *, shift"), "correct", "", ""),
          ("other order", HEAD + shifted(init="shift, width"), "correct", "", "")]),
        (problem(shifted("Model", "unused, width, shift"), init='[[2.0], {"shift": 0.25, "width": 28}]'),
         [("both", HEAD + shifted(init="unused, width, shift"), "correct", "", "")]),
        (problem(model("return F.linear(x, self.w) * self.options['by']", "self.w = nn.Parameter(torch.randn(sizes[0], 12))\nself.options = options",
                       given=", sizes, options"), init='[[28, 6], {"by": 2.0}]'),
         [("a list and a dict by position", candidate("return F.linear(x, self.w) * self.options['by']",
           "self.w = nn.Parameter(torch.randn(sizes[0], 12))\nself.options = options", given=", sizes, options"), "correct", "", "")]),
        (problem(ANY.format(name="Model"), init='[[28], {"shift": 0.25}]'),
         [("anything", HEAD + ANY.format(name="ModelNew"), "correct", "", ""),
          ("by their names", HEAD + shifted(init="width, shift"), "correct", "", "")]),
        (problem(model("return x * gain + shift", arguments="x, gain=2.0, *, shift"), '{"shift": torch.randn(12), "x": torch.randn(20, 12)}'),
         [("inputs", candidate("return 2 * x + shift", arguments="x, *, shift"), "correct", "", ""),
          ("inputs mixed up", candidate("return 2 * shift + x", arguments="x, *, shift"), "incorrect", "", "")]),
    ],
    "no get_init_inputs, a class of another name": [
        (problem(shifted("Model", "width=28, shift=1.0"), init=None),
         [("defaults", HEAD + shifted(init="width=28, shift=1.0"), "correct", "", "")]),
        (problem(shifted("Mixer", "width, shift"), init="[28, 1.0]"),
         [("Mixer", HEAD + shifted(), "correct", "", "")]),
    ],
    "outputs are compared by key and value": [
        (problem(model('return {"y": x * (x > 0), "positive": int((x > 0).sum())}')),
         [("the count", candidate('return {"positive": int((x > 0).sum()), "y": x.clamp(min=0)}'), "correct", "", ""),
          ("another count", candidate('return {"y": x.clamp(min=0), "positive": 0}'), "incorrect", "1 of 1 elements", ""),
          ("no count", candidate('return {"y": x.clamp(min=0)}'), "wrong_form", "the keys 'y', expected .*'positive'", "")]),
        (problem("import numpy as np\n\n" + model("n = x.double().norm().cpu().numpy()\nreturn np.float64(n), np.float32(n), np.int32(n), np.bool_(n > 0)")),
         [("numbers of NumPy", HEAD + "import numpy as np\n\n" + model(
             "n = np.sqrt((x.double() ** 2).sum().cpu().numpy())\nreturn np.float64(n), np.float32(n), np.int32(n), np.bool_(True)", name="ModelNew"),
           "correct", "", ""),
          ("the same as tensors", candidate("n = x.double().norm()\nreturn n, n.float(), n.int(), n > 0"), "correct", "", ""),
          ("Python's", candidate("n = float(x.double().norm())\nreturn n, n, int(n), True"), "wrong_form", "float32.*expected.*float64", "")]),
        (problem(model("y = torch.cos(x)\nreturn y, bool((y - x).abs().max() < 1e-3), None, 'done'")),
         [("all", candidate("return [torch.cos(x), False, None, 'done']"), "correct", "", ""),
          ("another flag", candidate("return torch.cos(x), True, None, 'done'"), "incorrect", "", ""),
          ("another word", candidate("return torch.cos(x), False, None, 'more'"), "wrong_form", r"output\[3\] is 'more'", "")]),
        (problem(model("return x * 2, (x + 1, {'a': x - 1})")),
         [("nested", candidate("return [x * 2, [x + 1, {'a': x - 1}]]"), "correct", "", ""),
          ("regrouped", candidate("return (x * 2, x + 1), {'a': x - 1}"), "wrong_form", r"output\[0\] is a tuple of 2", ""),
          ("flat", candidate("return x * 2, x + 1, x - 1"), "wrong_form", "is a tuple of 3", "")]),
        (problem(model("return torch.sigmoid(x)")),
         [("with a remark", candidate("return [torch.sigmoid(x), 'fused']"), "wrong_form", "a list of 2, expected a tensor", ""),
          ("None", candidate("return None"), "wrong_form", "is None, expected a tensor", ""),
          ("one dtype less", candidate("return torch.sigmoid(x).half()"), "wrong_form", "float16", "")]),
    ],
    "a cast after a product": [
        (problem(model(f"return (a @ b){cast}", arguments="a, b"), "[torch.randn(512, 1024), torch.randn(1024, 256)]", "[]" if said else None)
         + said,
         [("another order of summation", candidate(f"return (a[:, :512] @ b[:512] + a[:, 512:] @ b[512:]){cast}", arguments="a, b"),
           "correct", "", ""),
          ("less precision", candidate(f"return (a.bfloat16().float() @ b.bfloat16().float()){cast}", arguments="a, b"), "incorrect", "", ""),
          ("one step too much", candidate(f"return (a @ b * {step}){cast}", arguments="a, b"), "incorrect", "", "")])
        for cast, step, said in ((".to(torch.bfloat16)", 1.006, ""), (".to(torch.float8_e4m3fn)", 1.09, ""),
                                 (".to(torch.bfloat16).float()", 1.006, "\n\nERRORS_WANDER = 'a cast'\n"))
    ],
    "a constructed state is the candidate's own": [
        (problem(model("return self.fc(x) / 3", "self.fc = nn.Linear(12, 28)")),
         [("scaled", candidate("return self.fc(x)", "self.fc = nn.Linear(12, 28)\nwith torch.no_grad():\n    self.fc.weight.div_(3)\n"
                               "    self.fc.bias.div_(3)"), "correct", "", ""),
          ("drawn later", candidate("return self.fc(x) / 3", "torch.randn(1)\nself.fc = nn.Linear(12, 28)"), "correct", "", "state_copied"),
          ("drawn later and wrong", candidate("return self.fc(x) / 4", "torch.randn(1)\nself.fc = nn.Linear(12, 28)"), "incorrect", "",
           "state_copied"),
          ("other names", candidate("return F.linear(x, self.w, self.b)", "fc = nn.Linear(12, 28)\nself.w = nn.Parameter(fc.weight / 3)\n"
                                    "self.b = nn.Parameter(fc.bias / 3)"), "correct", "", ""),
          ("other names, other values", candidate("return self.layer(x) / 3", "torch.randn(5)\nself.layer = nn.Linear(12, 28)"), "incorrect",
           "", "other_weights: .*layer.weight.*fc.weight"),
          ("a lazy layer", candidate("return self.fc(x) / 3", "self.fc = nn.Linear(12, 28)\nself.lazy = nn.LazyLinear(3)"), "correct", "", ""),
          ("extra state", HEAD + model("return self.fc(x) / 3", "self.fc = nn.Linear(12, 28)", "ModelNew")
           + "\n    def get_extra_state(self):\n        return {'amax': [1.0]}\n", "correct", "", ""),
          ("another shape", candidate("return x @ self.fc[:12] + self.fc[12]", "fc = nn.Linear(12, 28)\n"
                                      "self.fc = nn.Parameter(torch.cat([fc.weight.t(), fc.bias[None]]) / 3)"), "correct", "", "")]),
    ],
    "random numbers that nobody declared": [
        (problem(model("return self.drop(x) - 1", "self.drop = nn.Dropout(0.25)")),
         [("dropout", candidate("return F.dropout(x, 0.25) - 1"), "correct", "", "draws_random"),
          ("no dropout", candidate("return x - 1"), "incorrect", "", "draws_random")]),
        (problem(model("return x + 0.5 * torch.randn_like(x)")),
         [("noise", candidate("return torch.randn_like(x) * 0.5 + x"), "correct", "", "draws_random")]),
        (problem(model("return F.dropout(x, 0.0) + 0 * torch.rand_like(x[:1])")),
         [("drawn for nothing", candidate("return x + 0"), "correct", "", "")]),
    ],
    "reasons": [
        (problem(model("return x.abs()")),
         [("several lines", candidate("raise RuntimeError('\\nlaunch refused: 96 KiB\\n\\n   grid (40, 1, 1)\\n')"), "crashed",
           "^forward raised: RuntimeError: launch refused: 96 KiB$", ""),
          ("no message", candidate("raise KeyError"), "crashed", "^forward raised: KeyError$", ""),
          ("no text", HEAD + "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\n\n" + model("raise Odd", name="ModelNew"),
           "crashed", "^forward raised: Odd$", ""),
          ("much text", candidate("raise RuntimeError('launch refused\\n' + 20000 * 'x = 1 ')"), "crashed",
           "^forward raised: RuntimeError: launch refused$", ""),
          ("exit", candidate("raise SystemExit(1)"), "crashed", "^forward raised: SystemExit: 1$", ""),
          ("exit in the constructor", candidate("return x", "import sys\nsys.exit('no device')"), "load_failed", "^SystemExit: no device$", ""),
          ("exit at import", HEAD + "raise SystemExit\n\nclass ModelNew: pass\n", "load_failed", "^SystemExit$", ""),
          ("interrupt", candidate("raise KeyboardInterrupt"), "crashed", "^forward raised: KeyboardInterrupt$", ""),
          ("state_dict", candidate("return x", "nn.Linear(2, 2).load_state_dict({'weight': torch.zeros(3, 3), 'bias': torch.zeros(2)})"),
           "load_failed", r"^RuntimeError: Error\(s\) in loading state_dict for Linear:$", "")]),
    ],
    "numbers of one byte": [
        (problem(model("return (x * 2).to(torch.float8_e4m3fn)")),
         [("e4m3", candidate("return (x + x).to(torch.float8_e4m3fn)"), "correct", "", ""),
          ("e4m3, wrong", candidate("return (x * 2.5).to(torch.float8_e4m3fn)"), "incorrect", "", ""),
          ("e5m2 instead", candidate("return (x * 2).to(torch.float8_e5m2)"), "wrong_form", "float8_e5m2", "")]),
        (problem(model("return x.float() @ w.float()", arguments="x, w"),
                 "[torch.randn(20, 12).to(torch.float8_e5m2), torch.randn(12, 8).to(torch.float8_e4m3fn)]"),
         [("inputs", candidate("return torch.mm(x.float(), w.float())", arguments="x, w"), "correct", "", ""),
          ("one input alone", candidate("return x.float()[:, :8]", arguments="x, w"), "incorrect", "", "")]),
    ],
    "extensions of one name": [
        (problem(model("return torch.where(x > 0, 4 * x, 6 * x)")), []),
    ],
    "extensions wherever they are asked for": [
        (problem(model("return torch.where(x > 0, 4 * x, 6 * x)")), []),
    ],
}

LINEAR = r'''
#include <pybind11/pybind11.h>

static void run(size_t x, size_t y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) reinterpret_cast<float*>(y)[i] = FACTOR * reinterpret_cast<const float*>(x)[i];
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("run", &run); }
'''
BUILD = f'''from torch.utils.cpp_extension import load_inline

SOURCE = r"""{LINEAR}"""


def built(name, factor, by_flag):
    if by_flag:
        return load_inline(name=name, cpp_sources=SOURCE, no_implicit_headers=True, extra_cflags=[f"-DFACTOR={{factor}}"])
    return load_inline(name=name, cpp_sources=SOURCE.replace("FACTOR", str(factor)), no_implicit_headers=True)


def times(extension, x):
    here = x.cpu()
    y = torch.empty_like(here)
    extension.run(here.data_ptr(), y.data_ptr(), x.numel())
    return y.to(x.device)


'''
CHOOSE = "return torch.where(x > 0, times(self.four, x), times(self.six, x))"
KINDS["extensions of one name"][0][1].extend([
    ("by a flag", HEAD + BUILD + model(CHOOSE, 'self.four, self.six = built("kernel", 4, True), built("kernel", 6, True)', "ModelNew"), "correct", "", ""),
    ("by the text", HEAD + BUILD + model(CHOOSE, 'self.four, self.six = built("kernel", 4, False), built("kernel", 6, False)', "ModelNew"),
     "correct", "", ""),
    ("of a name that a second one gets", HEAD + BUILD + model(CHOOSE, 'self.two = built("kernel", 2, True)\n'
     'self.four, self.six = built("kernel", 4, True), built("kernel_v1", 6, True)', "ModelNew"), "correct", "", ""),
    ("of a module", HEAD + BUILD + model(CHOOSE, 'self.four, self.six = built("select", 4, False), built("json", 6, False)', "ModelNew"),
     "correct", "", "")])

# No Python module, so that a compiler reads no header: PyTorch gives the path of what it loads.
LIBRARY = '''import ctypes

from torch.utils.cpp_extension import load_inline

SOURCE = """
extern "C" void run(const float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = (FACTOR) * x[i];
}
"""


def built(factor, **more):
    return ctypes.CDLL(load_inline(name="scaled", cpp_sources=SOURCE, no_implicit_headers=True, is_python_module=False,
                                   extra_cflags=[f"-DFACTOR={factor}"], **more))


def times(library, x):
    here = x.cpu().contiguous()
    y = torch.empty_like(here)
    library.run(ctypes.c_void_p(here.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(x.numel()))
    return y.to(x.device)


'''


def lazily(lines, before="", prepare="self.four = self.six = None"):
    """A candidate that runs these lines in each call, after which self.four and self.six are there."""
    body = "\n".join(f"        {line}" for line in lines.splitlines())
    return (HEAD + LIBRARY + before + "\n\nclass ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            f"        self.calls = 0\n        {prepare}\n\n    def forward(self, x):\n        self.calls += 1\n{body}\n"
            "        return torch.where(x > 0, times(self.four, x), times(self.six, x))\n")


BOTH = "if not self.six:\n    self.four, self.six = built(4), built(6)"
CAUGHT = """if not self.six:
    try:
        self.four = built('not_declared')
    except RuntimeError:
        self.four, self.six = built(4), built(6)"""
KINDS["extensions wherever they are asked for"][0][1].extend([
    ("both at import, of which one is seen there", lazily("pass", "FOUR, SIX = built(4), built(6)", "self.four, self.six = FOUR, SIX"), "correct", "", ""),
    ("one after the other in a call", lazily(BOTH), "correct", "", ""),
    ("in a method behind a condition", lazily("self.four, self.six = [self.kernels.get(x, factor) for factor in (4, 6)]", """class Kernels:
    kept = {}

    def get(self, x, factor):
        if (x.shape, factor) not in self.kept and x.numel() > 1:
            self.kept[x.shape, factor] = built(factor)
        return self.kept[x.shape, factor]
""", "self.kernels = Kernels()"), "correct", "", ""),
    ("in a thread", lazily("if not self.six:\n    with ThreadPoolExecutor(2) as pool:\n        self.four, self.six = pool.map(built, (4, 6))",
     "from concurrent.futures import ThreadPoolExecutor\n"), "correct", "", ""),
    ("eight", lazily("if not self.six:\n    self.six = [built(i) for i in range(1, 9)][5]\nself.four = built(4)"), "correct", "", ""),
    ("nine", lazily("if not self.six:\n    self.six = [built(i) for i in range(1, 10)][5]\nself.four = built(4)"), "crashed",
     "^forward raised: RuntimeError: Error building extension 'scaled': too many were first asked for in calls", ""),
    ("in the second call", lazily(BOTH + "\nif self.calls == 2:\n    built(5)"), "crashed",
     "^forward raised: RuntimeError: Error building extension 'scaled': it was first asked for after the first answer; build it at import", ""),
    ("of more text than fits", lazily("self.six = load_inline('long', SOURCE + '//' + 70_000 * 'x')"), "crashed",
     "^forward raised: NotBuilt: Error building extension 'long': .* at most 65000", ""),
    ("of no identifier's name", lazily("self.six = load_inline('a-b', SOURCE)"), "crashed", "'a-b': its name is no identifier", ""),
    ("refused", lazily("built('not_declared')"), "build_failed", "^the compiler refused it: .*error: .*not_declared", ""),
    ("refused at import", lazily("pass", "built('not_declared')\n"), "build_failed", "^the compiler refused it: .*error: .*not_declared", ""),
    ("refused and caught, then others", lazily(CAUGHT), "correct", "",
     "^build_fallback: .*error: .*not_declared"),
    ("refused at import and caught, then wrong", lazily("self.four = self.six = built(4)", "try:\n    built('not_declared')\nexcept Exception as error:\n"
     "    assert str(error).startswith(\"Error building extension 'scaled': \") and 'not_declared' in str(error), error\n"), "incorrect", "",
     "^build_fallback: .*error: .*not_declared"),
    ("with an argument that there is not", lazily("built(4, optimise=True)"), "crashed", "^forward raised: TypeError: .*optimise", ""),
    ("as a program", lazily("built(4)", "from torch.utils.cpp_extension import load\n", "load('a', [], is_standalone=True, is_python_module=False)"),
     "load_failed", "is_standalone is not supported", ""),
    ("with SYCL", lazily("built(4, sycl_sources='int a;')"), "crashed", "sycl_sources is not supported", ""),
])

FILES = '''import ctypes
import os
import tempfile

from torch.utils.cpp_extension import load

SCALE = """
#include "own.h"
#include <shared.h>
static float scaled(float x) { return FACTOR * OWN * SHARED * x; }
extern "C" void FUNCTION(const float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = scaled(x[i]);
}
"""


def written(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)
    return file.name


def built(own="own.h"):
    folder = tempfile.mkdtemp()
    written(folder, own, "#pragma once\\n#define OWN 1\\n")
    written(f"{folder}/include", "shared.h", "#pragma once\\n#include \\"sub/more.h\\"\\n")
    written(f"{folder}/include/sub", "more.h", "#define SHARED 2\\n")
    sources = []
    for function, factor in (("four", 2), ("six", 3)):
        with tempfile.NamedTemporaryFile("w", suffix=".cpp", dir=folder, delete=False) as file:
            file.write(SCALE.replace("FUNCTION", function).replace("FACTOR", str(factor)))
        sources.append(file.name)
    return ctypes.CDLL(load("scaled", sources, extra_include_paths=[f"{folder}/include", "/usr/include"], is_python_module=False))


def times(function, x):
    here = x.cpu().contiguous()
    y = torch.empty_like(here)
    function(ctypes.c_void_p(here.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(x.numel()))
    return y.to(x.device)


'''


def of_files(prepare, lines="pass"):
    """A candidate whose self.library is built of files."""
    return HEAD + FILES + model(f"{lines}\nreturn torch.where(x > 0, times(self.library.four, x), times(self.library.six, x))", prepare, "ModelNew")


KINDS["extensions of files"] = [(problem(model("return torch.where(x > 0, 4 * x, 6 * x)")), [
    ("two sources with headers, in the constructor", of_files("self.library = built()"), "correct", "", ""),
    ("in the first call", of_files("self.library = None", "self.library = self.library or built()"), "correct", "", ""),
    ("a header that is not there", of_files("self.library = built('other.h')"), "build_failed",
     "^the compiler refused it: files/0/source0.cpp:2:10: fatal error: own.h", ""),
    ("a source that is not there", of_files("load('a', ['/tmp/none.cpp'])"), "load_failed", "^FileNotFoundError: .*/tmp/none.cpp", ""),
    ("no source", of_files("load('a', [written('/tmp/a', 'a.txt', '')])"), "load_failed", "^NotBuilt: load of 'a.txt': a source is a file of", ""),
])]

BESIDE = """import os

import parts.lines

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "kernels", "more.h")) as file:
    assert "SHARED" in file.read()


def built():
    sources = [os.path.join(HERE, "kernels", name) for name in ("four.cpp", "six.cpp")]
    return ctypes.CDLL(load("scaled", sources, extra_include_paths=[os.path.join(HERE, "kernels")], is_python_module=False))


"""


def folder(prepare, lines="pass", **others):
    """The same candidate with its files beside it."""
    entry = HEAD + FILES.replace("def built(", "def written_and_built(") + BESIDE + model(
        f"{lines}\nreturn parts.lines.chosen(x, times(self.library.four, x), times(self.library.six, x))", prepare, "ModelNew")
    line = '#include "own.h"\n#include <more.h>\nextern "C" void NAME(const float* x, float* y, long n) { for (long i = 0; i < n; ++i) y[i] = BY * SHARED * x[i]; }\n'
    return {"model_new.py": entry, "parts/lines.py": "import torch\n\n\ndef chosen(x, more, less):\n    return torch.where(x > 0, more, less)\n",
            "kernels/four.cpp": line.replace("NAME", "four").replace("BY", "2"), "kernels/six.cpp": line.replace("NAME", "six").replace("BY", "3"),
            "kernels/own.h": "", "kernels/more.h": "#define SHARED 2\n", **others}


KINDS["folders"] = [(problem(model("return torch.where(x > 0, 4 * x, 6 * x)")), [
    ("with sources, headers, a module and a text", folder("self.library = built()"), "correct", "", ""),
    ("in the first call", folder("self.library = None", "self.library = self.library or built()"), "correct", "", ""),
    ("with another header", folder("self.library = built()", **{"kernels/more.h": "#define SHARED 3\n"}), "incorrect", "", ""),
    ("refused by the compiler", folder("self.library = built()", **{"kernels/six.cpp": "\nint six = none;\n"}), "build_failed",
     "^the compiler refused it: files/candidate/kernels/six.cpp:2:11: error: .*none", ""),
    ("with a module that is not there", folder("self.library = built()", **{"parts/lines.py": "import absent"}), "load_failed",
     "^ModuleNotFoundError: No module named 'absent'", ""),
])]
