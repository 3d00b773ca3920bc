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

{env}
"""
ONE_TURN = """
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
TURNS = """
[env.player.harness]
id = "null"

[env.player.runtime]
type = "subprocess"

[env.taskset]
id = "openenv"
base_url = "{url}"
resets = [{resets}]
"""
RESET = '{{ problem_id = "{problem}", max_turns = 2, size = "small", protocol = "quick", keys = {{ measure = false, profile_ms = 300 }} }}'


class Verifiers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model_server.ANSWER = f"Like this:\n\n```python\n{RIGHT}```\n"
        cls.root = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="kernelbench-verifiers.")))
        cls.service = Service()
        cls.addClassCleanup(cls.service.close)
        cls.model = cls.enterClassContext(model_server.LlamaCpp(cls.root))
        cls.model.start()

    def evaluate(self, name, env, problem_of):
        """The rollouts of two problems, by problem."""
        output = self.root / name
        output.mkdir()
        (output / "run.toml").write_text(RUN.format(model=self.model.model, output=output, url=self.model.url, env=env))
        environment = {**os.environ, "KERNELBENCH_URL": self.service.url, "KERNELBENCH_TOKEN": self.service.token, "NO_KEY": "none"}
        done = subprocess.run(["vf-eval", "@", output / "run.toml", "--no-rich"], cwd=output, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        episodes = [json.loads(line) for path in output.rglob("traces.jsonl") for line in path.read_text().splitlines()]
        traces = [trace for episode in episodes for trace in episode["traces"]]
        self.assertEqual(len(traces), 4, done.stdout[-3000:] + done.stderr[-3000:])
        return {problem: [trace for trace in traces if problem_of(trace["task"]["data"]) == problem] for problem in ("1/19", "1/25")}

    def evaluate_one_turn(self, reward):
        return self.evaluate(reward, ONE_TURN.format(reward=reward), lambda data: data["problem"])

    def test_rewards_and_metrics(self):
        traces = self.evaluate_one_turn("sure_gain")
        for problem, reward in (("1/19", 0.3), ("1/25", 0.0)):
            for trace in traces[problem]:
                self.assertEqual(trace["errors"], [])
                self.assertEqual(trace["rewards"]["kernelbench"]["score"], reward)
                self.assertEqual(trace["metrics"]["kernelbench_correct"], float(reward > 0))

    def test_without_a_number_it_is_an_error(self):
        traces = self.evaluate_one_turn("correct_and_speedup")
        for trace in traces["1/19"]:
            self.assertIsNone(trace["rewards"]["kernelbench"])
            self.assertIn("not_measured", json.dumps(trace["errors"]))
        self.assertEqual([trace["rewards"]["kernelbench"]["score"] for trace in traces["1/25"]], [0.0, 0.0])

    def test_openenv(self):
        """The model answers twice, with prose around its code. Its client can be given nothing but a URL."""
        resets = ", ".join(RESET.format(problem=problem) for problem in ("1/19", "1/25"))
        url = f"http://any:{self.service.token}@127.0.0.1:{self.service.port}"
        traces = self.evaluate("openenv", TURNS.format(url=url, resets=resets), lambda data: data["reset"]["problem_id"])
        for problem, reward in (("1/19", 0.3), ("1/25", 0.0)):
            for trace in traces[problem]:
                self.assertEqual(trace["errors"], [])
                self.assertEqual(trace["rewards"]["openenv_reward"]["score"], reward)


if __name__ == "__main__":
    unittest.main()
