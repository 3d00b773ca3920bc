"""The client takes from an answer what the engine takes: every case of tests/prompt/answers. And hostile answers end neither the process nor its patience."""

import json
import pathlib
import random
import subprocess
import tempfile
import unittest

from service import BINARY

from kernelbench_client.answers import extract

ANSWERS = pathlib.Path(__file__).resolve().parents[1] / "prompt" / "answers"
CANDIDATE = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x\n"


def read_case(path):
    head, rest = path.read_text(encoding="utf-8").split("--- answer ---\n", 1)
    keys = dict(line.split(": ", 1) for line in head.splitlines())
    answer, _, source = rest.partition("--- source ---\n")
    return keys, answer.replace("\n", {"crlf": "\r\n", "cr": "\r"}.get(keys.get("line_ends"), "\n")), source


class Answers(unittest.TestCase):
    def test_each_case(self):
        cases = sorted(ANSWERS.glob("*.txt"))
        self.assertGreater(len(cases), 90)
        for path in cases:
            keys, answer, source = read_case(path)
            language = {"native-cpu": "cpp", "native-cuda": "cu"}.get(keys["target"], "py")
            got = extract(answer, language, "cut_off" in keys)
            with self.subTest(path.stem):
                self.assertEqual(got.outcome, keys["outcome"], got.reason)
                self.assertEqual(got.source, source)
                self.assertEqual(got.how, keys.get("how", got.how))
                self.assertEqual(got.reason == "", got.outcome == "found")

    def test_several_at_once(self):
        """Answers after each other, as the engine takes them."""
        cases, draw = [read_case(path) for path in sorted(ANSWERS.glob("*.txt"))], random.Random(3)
        for _ in range(150):
            some = draw.sample(cases, draw.choice([2, 2, 3]))
            backend, device = {"native-cpu": ("native", "cpu"), "native-cuda": ("native", "cuda")}.get(some[0][0]["target"], ("triton", "cuda"))
            language = {"cpu": "cpp", "cuda": "cu"}[device] if backend == "native" else "py"
            answer = "\n".join(text for _, text, _ in some)
            with tempfile.NamedTemporaryFile("w", suffix=".txt", newline="") as file:
                file.write(answer)
                file.flush()
                arguments = [BINARY, "check", "--answer", file.name, "--backend", backend, "--device", device, "--json"]
                engine = json.loads(subprocess.run(arguments, capture_output=True, text=True).stdout)
            got = extract(answer, language)
            with self.subTest(answer):
                self.assertEqual((got.source, "") if got.outcome == "found" else ("", got.reason), (engine["source"], "" if engine["source"] else engine["rejection"]))

    def test_ten_megabytes(self):
        prose = "It depends on the machine, it's said; \"we\" see.\n" * 200_000
        self.assertEqual(extract(prose).outcome, "no_code")
        self.assertEqual(extract(f"{prose}```python\n{CANDIDATE}```\n{prose}").source, CANDIDATE)
        self.assertEqual(extract(f"{prose}{CANDIDATE}\nThat is all.\n").source, CANDIDATE)
        self.assertEqual(extract(f"```python\n{CANDIDATE}" + "x = 1\n" * 1_500_000 + "```\n").outcome, "found")
        self.assertEqual(extract("<think>x</think>\n" * 500_000 + f"```python\n{CANDIDATE}```\n").source, CANDIDATE)
        self.assertEqual(extract("```python\n" * 1_000_000).outcome, "no_code")
        self.assertEqual(extract("kb_forward(" * 900_000, "cpp").outcome, "no_code")

    def test_hostile_code_beside_the_candidate(self):
        for bomb in ("x = " + "(" * 100_000, "x = " + "-" * 100_000 + "1", "x = " + "1+" * 100_000 + "1", "x" + ".a" * 100_000, "x = " + "[" * 90 + "]" * 90, "x = '\0'",
                     "\n".join(" " * i + "if x:" for i in range(2000)), "f(" * 50_000 + ")" * 50_000, "x = " + "lambda: " * 50_000 + "1", "\ud800 = 1",
                     "/*" * 90_000, '"' + '\\"' * 90_000, 'R"(' * 60_000):
            for answer in (f"```python\n{bomb}\n```\n```python\n{CANDIDATE}```\n", f"```python\n{CANDIDATE}```\n```python\n{bomb}\n```\n"):
                with self.subTest(bomb[:20]):
                    self.assertEqual(extract(answer).source, CANDIDATE)
            extract(f"```cpp\n{bomb}\n```\n```cpp\nint kb_forward(const kb_call* call) {{ return f(call); }}\n```\n", "cpp")


if __name__ == "__main__":
    unittest.main()
