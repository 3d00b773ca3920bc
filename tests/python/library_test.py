#!/usr/bin/env python3
"""A baseline that is a library: which problems name one, which version of it is taken, and what is said where there is none."""
import ast
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from kernelbench_torch import reference_session  # noqa: E402
from kernelbench_torch.problem import ProblemError  # noqa: E402

PROBLEMS = ROOT / "problems" / "v3" / "level4"
LIBRARIES = sorted((ROOT / "problems" / "v3" / "libraries").glob("*.py"))


def functions(text):
    return {node.name: ast.dump(node.args) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


class Library(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        sys.path.insert(0, self.folder.name)  # before any fla-core that is installed
        self.addCleanup(sys.path.remove, self.folder.name)

    def install(self, version):
        info = pathlib.Path(self.folder.name, f"fla_core-{version}.dist-info")
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fla-core\nVersion: {version}\n")

    def refused(self, problem):
        with self.assertRaises(ProblemError) as refusal:
            reference_session.source(problem, "standard", "library", "Model")
        return str(refusal.exception)

    def test_it_takes_the_place_of_a_function_of_the_problem(self):
        self.install("0.6.2")
        self.assertTrue(LIBRARIES)
        for library in LIBRARIES:
            problem = PROBLEMS / library.name
            own = functions(library.read_text())
            self.assertEqual({name: functions(problem.read_text())[name] for name in own}, own)
            text = reference_session.source(problem, "small", "library", "Model")
            self.assertIn("# fla-core 0.6.2\n", text)
            self.assertTrue(text.endswith("ModelNew = Model\n"))
            last = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
            for name in own:
                self.assertIn("narrow", ast.unparse(last[name]))

    def test_another_version_is_refused(self):
        for version in ("0.5.9", "0.60.0", "1.0"):
            self.setUp()
            self.install(version)
            said = self.refused(PROBLEMS / "7_GatedDeltaNet.py")
            self.assertIn(f"is fla-core 0.6, and this Python has {version}: python -m pip install 'fla-core==0.6.*'", said)

    def test_what_is_missing_is_named(self):
        self.assertIn("names no library as its baseline", self.refused(PROBLEMS / "1_DeepSeek_MLA.py"))
        found = reference_session.importlib.metadata.version

        def missing(package):
            raise reference_session.importlib.metadata.PackageNotFoundError(package)
        reference_session.importlib.metadata.version = missing
        try:
            said = self.refused(PROBLEMS / "8_KimiDeltaAttention.py")
        finally:
            reference_session.importlib.metadata.version = found
        self.assertIn("is fla-core 0.6, which this Python lacks: python -m pip install", said)


if __name__ == "__main__":
    unittest.main()
