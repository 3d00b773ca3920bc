"""The package as it is installed: types for whoever uses it, no framework until it is asked for, no dependency."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"
USER = """
from kernelbench_client import AsyncClient, Candidate, Client, Evaluation, Rewarded
from kernelbench_client.trl import reward_func

client = Client("http://127.0.0.1:1")
told: Evaluation = client.evaluate(Candidate("1/19", "x"))
rewarded: list[Rewarded] = client.rewards([Candidate("1/19", "x")], best=[None])
reward: float | None = rewarded[0].reward
reveal_type(rewarded[0].reward)
reveal_type(AsyncClient().wait)
reward_func(client, size="small")
"""
MODULES = "import kernelbench_client, kernelbench_client.trl, kernelbench_client.verl, kernelbench_client.prompts; import sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"


class Package(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        source = self.root / "source"
        shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
        self.run_(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "-w", self.root, source)
        (wheel,) = self.root.glob("*.whl")
        self.run_(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--target", self.root / "installed", wheel)

    def run_(self, *command, **options):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_types_and_imports(self):
        self.run_(sys.executable, "-m", "mypy", cwd=PACKAGE)
        (self.root / "user.py").write_text(USER)
        said = self.run_(sys.executable, "-m", "mypy", "--strict", "user.py", cwd=self.root, env={"MYPYPATH": "installed", "PATH": "/usr/bin:/bin"})
        self.assertIn('"float | None"', said)
        self.assertIn("-> typing.Coroutine[Any, Any, kernelbench_client.types.Evaluation]", said)
        loaded = self.run_(sys.executable, "-S", "-W", "error", "-c", MODULES, env={"PYTHONPATH": str(self.root / "installed"), "PATH": "/usr/bin:/bin"}).split()
        self.assertEqual([name for name in loaded if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith(("kernelbench_client", "__"))], [])
        metadata = next(self.root.glob("installed/*.dist-info/METADATA")).read_text()
        self.assertEqual([line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line], [])


if __name__ == "__main__":
    unittest.main()
