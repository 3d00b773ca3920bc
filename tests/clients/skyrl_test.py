"""An environment of skyrl-gym, made and stepped as SkyRL does it, against the real service."""

import os
import unittest

import skyrl_gym
from service import QUICK, RIGHT, WRONG, Service
from skyrl_gym.envs import register

from kernelbench_client import Refused
from kernelbench_client._scoring import NoReward


def setUpModule():
    global service
    service = Service()
    os.environ.update(KERNELBENCH_URL=service.url, KERNELBENCH_TOKEN=service.token)
    register(id="kernelbench", entry_point="kernelbench_client.skyrl:KernelbenchEnv")


def tearDownModule():
    service.close()


def answer(source):
    return f"Perhaps this:\n```python\n{source}```\n"


class Skyrl(unittest.TestCase):
    def env(self, problem="1/19", **config):
        env = skyrl_gym.make("kernelbench", env_config={**QUICK, **config}, extras={"reward_spec": {"ground_truth": problem}})
        prompt = [{"role": "user", "content": "Make it faster."}]
        self.assertEqual(env.init(prompt), (prompt, {}))
        return env

    def test_one_turn(self):
        for text, reward, verdict in ((answer(RIGHT), 0.3, "correct"), (answer(WRONG), 0.0, "incorrect"), ("I cannot.", 0.0, "static_rejected")):
            env = self.env()
            step = env.step(text)
            self.assertEqual((step["reward"], step["done"], step["observations"]), (reward, True, []))
            self.assertEqual(step["metadata"]["kernelbench_verdict"], verdict)
            self.assertEqual(env.get_metrics()["correct"], float(verdict == "correct"))
            env.close()

    def test_turns_pay_what_is_above_the_best(self):
        env = self.env(max_turns=4)
        steps = [env.step(text) for text in ("Let me think.", answer(WRONG), answer(RIGHT), answer(WRONG))]
        self.assertEqual([step["reward"] for step in steps], [0.0, 0.0, 0.3, 0.0])
        self.assertEqual([step["done"] for step in steps], [False, False, False, True])
        self.assertIn("the answer holds no code", steps[0]["observations"][0]["content"])
        self.assertIn("elements are wrong", steps[1]["observations"][0]["content"])
        self.assertEqual(steps[2]["observations"][0]["role"], "user")

    def test_without_a_number(self):
        with self.assertRaises(NoReward) as none:
            self.env(reward="correct_and_speedup").step(answer(RIGHT))
        self.assertIn("not_measured", none.exception.detail)
        step = self.env(reward="correct_and_speedup", null_reward=-1.0).step(answer(RIGHT))
        self.assertEqual((step["reward"], step["metadata"]["kernelbench_null"]), (-1.0, True))

    def test_what_is_wrong(self):
        with self.assertRaises(ValueError):
            skyrl_gym.make("kernelbench", env_config={}, extras={})
        with self.assertRaises(Refused):
            self.env("9/99").step(answer(RIGHT))
        with self.assertRaises(TypeError):
            self.env(prioritiy=1).step(answer(RIGHT))


if __name__ == "__main__":
    unittest.main()
