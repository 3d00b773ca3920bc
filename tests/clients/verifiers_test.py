"""`vf-eval` of verifiers asks llama.cpp's own server, with a tiny model that knows one answer by heart, and has the real service judge it."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from service import RIGHT, Service

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import server as model_server  # noqa: E402

RUN = """
model = "{model}"
num_rollouts = 2
push = false
output_dir = "{output}"

[client]
base_url = "{url}"
api_key_var = "NO_KEY"

[sampling]
max_tokens = 1000
temperature = 0.0

[env.agent.harness]
id = "null"

[env.agent.runtime]
type = "subprocess"

[env.taskset]
id = "kernelbench-verifiers"
problems = ["1/19", "1/25"]

[env.taskset.task]
size = "small"
protocol = "quick"
keys = {{ measure = false, profile_ms = 300 }}
reward = "{reward}"
"""


class Verifiers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model_server.ANSWER = f"Like this:\n\n```python\n{RIGHT}```\n"
        cls.root = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="kernelbench-verifiers.")))
        cls.service = Service()
        cls.addClassCleanup(cls.service.close)
        cls.model = cls.enterClassContext(model_server.LlamaCpp(cls.root))
        cls.model.start()

    def evaluate(self, reward):
        """The rollouts of two problems, by problem."""
        output = self.root / reward
        output.mkdir()
        (output / "run.toml").write_text(RUN.format(model=self.model.model, output=output, url=self.model.url, reward=reward))
        environment = {**os.environ, "KERNELBENCH_URL": self.service.url, "KERNELBENCH_TOKEN": self.service.token, "NO_KEY": "none"}
        done = subprocess.run(["vf-eval", "@", output / "run.toml", "--no-rich"], cwd=output, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        episodes = [json.loads(line) for path in output.rglob("traces.jsonl") for line in path.read_text().splitlines()]
        traces = [trace for episode in episodes for trace in episode["traces"]]
        self.assertEqual(len(traces), 4, done.stdout[-3000:] + done.stderr[-3000:])
        return {problem: [trace for trace in traces if trace["task"]["data"]["problem"] == problem] for problem in ("1/19", "1/25")}

    def test_rewards_and_metrics(self):
        traces = self.evaluate("sure_gain")
        for problem, reward in (("1/19", 0.3), ("1/25", 0.0)):
            for trace in traces[problem]:
                self.assertEqual(trace["errors"], [])
                self.assertEqual(trace["rewards"]["kernelbench"]["score"], reward)
                self.assertEqual(trace["metrics"]["kernelbench_correct"], float(reward > 0))

    def test_without_a_number_it_is_an_error(self):
        traces = self.evaluate("correct_and_speedup")
        for trace in traces["1/19"]:
            self.assertIsNone(trace["rewards"]["kernelbench"])
            self.assertIn("not_measured", json.dumps(trace["errors"]))
        self.assertEqual([trace["rewards"]["kernelbench"]["score"] for trace in traces["1/25"]], [0.0, 0.0])


if __name__ == "__main__":
    unittest.main()
