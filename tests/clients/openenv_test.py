"""The service as an environment of OpenEnv: its own client and validator, websockets, and an environment of TRL's trainer on that client."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import websockets
import websockets.sync.client as sync
from openenv import GenericEnvClient
from service import QUICK, RIGHT, WRONG, Service, until

SLOW = RIGHT.replace("return", "import time; time.sleep(30); return")


def setUpModule():
    global service, url
    service = Service()
    url = f"http://any:{service.token}@127.0.0.1:{service.port}"


def tearDownModule():
    service.close()


def client(**how):
    return GenericEnvClient(base_url=url, **how).sync()


def connect(path="/ws", **how):
    return sync.connect(f"ws://127.0.0.1:{service.port}{path}", additional_headers={"Authorization": f"Bearer {service.token}"}, proxy=None, **how)


def exchange(session, **message):
    session.send(json.dumps(message))
    return json.loads(session.recv())


def counter(name):
    return sum(float(line.split()[-1]) for line in service.ask("/metrics").splitlines() if line.startswith(name))


class OpenEnv(unittest.TestCase):
    def test_validate(self):
        command = [os.path.join(os.path.dirname(sys.executable), "openenv"), "validate", "--url", url, "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        report = json.loads(done.stdout)
        wrong = [each for each in report["criteria"] if not each["passed"]]
        self.assertEqual((wrong, len(report["criteria"]), report["mode"]), ([], 6, "simulation"))

    def test_three_problems(self):
        """Several turns each; the rewards sum up to that of the best candidate."""
        right = {"1/19": RIGHT, "L1_25_Swish": RIGHT.replace("x.clamp(min=0)", "x * torch.sigmoid(x)"), "1/20": RIGHT.replace("x.clamp(min=0)", "torch.where(x > 0, x, 0.01 * x)")}
        for problem, code in right.items():
            with client() as env:
                seen = env.reset(problem_id=problem, max_turns=5, **QUICK)
                self.assertIn("class Model", seen.observation["reference_code"])
                self.assertEqual((seen.reward, seen.done, seen.observation["turn"]), (None, False, 0))
                # Of both names, with prose around, and something that is none.
                steps = [env.step({"code": each}) for each in (WRONG, code.replace("ModelNew", "Model"), f"Like this:\n```python\n{code}```\n", "I cannot.", code)]
                self.assertEqual([step.observation["verdict"] for step in steps], ["incorrect", "correct", "correct", "static_rejected", "correct"])
                self.assertEqual([step.reward for step in steps], [0.0, 0.3, 0.0, 0.0, 0.0])
                self.assertEqual([step.done for step in steps], [False] * 4 + [True])
                self.assertGreater(steps[0].observation["max_diff"], 0)
                self.assertIn("elements", steps[0].observation["feedback"])
                state = env.state()
                self.assertEqual((state["step_count"], state["done"], state["best_reward"]), (5, True, 0.3))
                with self.assertRaisesRegex(RuntimeError, "the episode is over.*VALIDATION_ERROR"):
                    env.step({"code": code})
                self.assertEqual(env.reset(problem_id=problem).observation["turn"], 0)

    def test_no_number_is_no_reward(self):
        """A reward that wants a speedup, where none is measured."""
        with client() as env:
            env.reset(problem_id="1/19", reward="correct_and_speedup", **QUICK)
            step = env.step({"code": RIGHT})
            self.assertIsNone(step.reward)
            self.assertEqual((step.metadata["reward_applicable"], step.observation["no_speedup"]), (False, "not_measured"))
            self.assertEqual(env.step({"code": WRONG}).reward, 0.0)

    def test_what_is_wrong_is_said(self):
        with client() as env:
            for reset, said in (({"problem_id": "1/190"}, "there is no problem 1/190; there are 1/1 to 1/100"), ({"problem": "1/19"}, "/problem: there is no such field"),
                                ({"problem_id": "1/19", "reward": "x"}, "GET /v1/rewards"), ({"max_turns": 0}, "/max_turns: must be at least 1")):
                with self.assertRaisesRegex(RuntimeError, f"{said}.*VALIDATION_ERROR"):
                    env.reset(**reset)
            env.reset(problem_id="1/19", size="tiny")
            with self.assertRaisesRegex(RuntimeError, "1/19 has the sizes.*VALIDATION_ERROR"):
                env.step({"code": RIGHT})
        with self.assertRaises((ConnectionError, websockets.InvalidStatus)):
            GenericEnvClient(base_url=service.url).sync().reset()

    def test_http(self):
        begun = json.loads(service.ask("/reset", {"problem_id": "1/19", "seed": None, **QUICK}))
        episode = begun["metadata"]["episode_id"]
        step = json.loads(service.ask("/step", {"action": {"code": RIGHT}, "episode_id": episode, "request_id": "1"}))
        self.assertEqual((step["reward"], step["observation"]["verdict"]), (0.3, "correct"))
        self.assertEqual(json.loads(service.ask("/state?episode_id=" + urllib.parse.quote(episode)))["best_reward"], 0.3)
        waits = json.loads(service.ask("/step", {"action": {"code": SLOW.replace("30", "1")}, "episode_id": episode, "timeout_s": 0.1}))
        self.assertEqual((waits["observation"]["judging"], waits["reward"], waits["done"]), (True, None, False))
        self.assertEqual(json.loads(service.ask("/step", {"action": {"code": ""}, "episode_id": episode}))["observation"]["turn"], 2)

    def test_trl(self):
        """GRPO steps of a tiny model, whose environment is that client."""
        import datasets
        import trl
        from tool_calls import model_that_calls


        class Environment:
            def __init__(self):
                self.env = client()

            def reset(self, problem, **_):
                self.env.reset(problem_id=problem, **QUICK)
                self.reward = 0.0

            def submit_kernel(self, code: str) -> str:
                """Has a kernel judged.

                Args:
                    code: a Python file that defines ModelNew

                Returns:
                    what became of it
                """
                step = self.env.step({"code": code})
                self.reward += step.reward
                return step.observation["feedback"]

        model, tokenizer = model_that_calls(self, (RIGHT, WRONG))
        before = [weights.clone() for weights in model.parameters()]
        data = datasets.Dataset.from_list([{"prompt": [{"role": "user", "content": "Make ReLU faster."}], "problem": "1/19"}] * 8)
        settings = trl.GRPOConfig(output_dir=self.enterContext(tempfile.TemporaryDirectory()), max_steps=3, per_device_train_batch_size=8, num_generations=8, max_completion_length=64,
                                  max_tool_calling_iterations=2, learning_rate=1e-2, logging_steps=1, save_strategy="no", report_to="none", use_cpu=True, bf16=False, disable_tqdm=True, seed=1)

        def reward(environments, **_):
            return [each.reward for each in environments]

        trainer = trl.GRPOTrainer(model=model, reward_funcs=reward, args=settings, train_dataset=data, processing_class=tokenizer, environment_factory=Environment)
        trainer.train()
        self.assertGreater(max(row["reward"] for row in trainer.state.log_history if "reward" in row), 0)
        self.assertTrue(any(not (old == new).all() for old, new in zip(before, model.parameters())))


class WebSocket(unittest.TestCase):
    """The server under a client that is not ours."""

    def test_messages(self):
        with connect() as session:
            session.send(iter(['{"type":', '"st', 'ate"}']))  # in fragments
            self.assertEqual(json.loads(session.recv())["type"], "state")
            self.assertTrue(session.ping("x").wait(10))
            self.assertEqual(exchange(session, type="jump")["data"]["code"], "UNKNOWN_TYPE")
            session.send('{"type":"close"}')
            with self.assertRaises(websockets.ConnectionClosedOK):
                session.recv()

    def test_what_ends_it(self):
        for what, code in ((b"binary", 1003), ("x" * (33 << 20), 1009), (["x" * (20 << 20)] * 2, 1009)):
            with connect() as session:
                with self.assertRaises(websockets.ConnectionClosed) as closed:
                    session.send(what)
                    session.recv()
                self.assertEqual(closed.exception.rcvd.code, code)
        with self.assertRaises(websockets.InvalidStatus) as refused:
            connect(origin="http://evil.example")
        self.assertEqual(refused.exception.response.status_code, 403)

    def test_pings_are_answered_while_it_is_judged(self):
        with connect() as session:
            exchange(session, type="reset", data={"problem_id": "1/19", **QUICK})
            session.send(json.dumps({"type": "step", "data": {"code": SLOW}}))
            until(lambda: counter("kernelbench_evaluations_open") > 0)
            for _ in range(3):
                self.assertTrue(session.ping().wait(5))

    def test_who_is_killed_has_nothing_judged(self):
        code = f"import os, signal\nfrom openenv_test import *\nsession = sync.connect('ws://127.0.0.1:{service.port}/ws', additional_headers={{'Authorization': 'Bearer {service.token}'}})\n"
        code += f"exchange(session, type='reset', data={{'problem_id': '1/19', **QUICK}})\nsession.send(json.dumps({{'type': 'step', 'data': {{'code': {SLOW!r}}}}}))\nprint(flush=True)\nsession.recv()\n"
        until(lambda: counter("kernelbench_evaluations_open") == 0)
        cancelled = 'kernelbench_evaluations_total{verdict="cancelled"}'
        before = counter(cancelled)
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": f"{os.path.dirname(__file__)}:{os.environ.get('PYTHONPATH', '')}"})
        with process:
            process.stdout.readline()
            until(lambda: counter("kernelbench_evaluations_open") == 1)
            process.send_signal(signal.SIGKILL)
        until(lambda: counter(cancelled) == before + 1, 20)

    def test_many(self):
        async def one(number):
            headers = {"Authorization": f"Bearer {service.token}"}
            async with websockets.connect(f"ws://127.0.0.1:{service.port}/ws", additional_headers=headers, proxy=None, open_timeout=60) as session:
                await session.send(json.dumps({"type": "reset", "data": {"seed": number}}))
                return json.loads(await session.recv())["data"]["observation"]["problem_id"]

        async def all_of_them():
            return await asyncio.gather(*(one(number) for number in (*range(199), 250)))

        told = asyncio.run(all_of_them())
        self.assertEqual(len(set(told)), 199)
        self.assertEqual(told[0], told[199], "seeds go round the 250 problems")

    def test_a_service_that_ends_says_so(self):
        other = Service()
        self.addCleanup(other.close)
        with sync.connect(f"ws://127.0.0.1:{other.port}/ws", additional_headers={"Authorization": f"Bearer {other.token}"}, proxy=None) as session:
            exchange(session, type="reset", data={"problem_id": "1/19", **QUICK})
            session.send(json.dumps({"type": "step", "data": {"code": SLOW}}))
            time.sleep(1)
            other.end()
            with self.assertRaises(websockets.ConnectionClosed) as closed:
                while True:
                    session.recv()
            self.assertEqual(closed.exception.rcvd.code, 1001)


if __name__ == "__main__":
    unittest.main()
