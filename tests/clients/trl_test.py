"""GRPO steps of TRL itself, with the tiny model of examples/train, judged by the real service."""

import json
import math
import os
import pathlib
import sys
import tempfile
import unittest
import warnings

import datasets
import torch
import trl
from service import QUICK, RIGHT, WRONG, Service
from transformers.utils import get_json_schema

from kernelbench_client import AsyncClient, Client
from kernelbench_client.trl import async_reward_func, environment_factory, reward_func, text_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "train"))
import grpo  # noqa: E402
from tool_calls import model_that_calls  # noqa: E402

warnings.simplefilter("ignore")


def setUpModule():
    global service
    service = Service()
    os.environ.update(KERNELBENCH_URL=service.url, KERNELBENCH_TOKEN=service.token)


def tearDownModule():
    service.close()


def chance_of_right(trainer, question):
    """That the model answers so."""
    tokenizer = trainer.processing_class
    with torch.no_grad():
        logits = trainer.model(**tokenizer(question, return_tensors="pt")).logits[0, -1]
    return float(torch.softmax(logits, -1)[tokenizer.convert_tokens_to_ids(grpo.RIGHT)])


class Trl(unittest.TestCase):
    def trainer(self, *words, **how):
        words = ["--keys", json.dumps(QUICK["keys"]), "--steps", "4", *words]
        trainer = grpo.trainer_of(grpo.parse(words), Client(), self.enterContext(tempfile.TemporaryDirectory()), **how)
        self.before = {name: weights.clone() for name, weights in trainer.model.named_parameters()}
        return trainer

    def changed(self, trainer):
        weights = dict(trainer.model.named_parameters())
        self.assertTrue(all(torch.isfinite(each).all() for each in weights.values()))
        return any(not torch.equal(self.before[name], each) for name, each in weights.items())

    def logged(self, trainer, name):
        return [row[name] for row in trainer.state.log_history if name in row]

    def test_it_learns(self):
        trainer = self.trainer("--steps", "8", "--generations", "12")
        question = trainer.train_dataset[0]["prompt"]
        before = chance_of_right(trainer, question)
        trainer.train()
        self.assertTrue(self.changed(trainer))
        self.assertGreater(chance_of_right(trainer, question), 2 * before)
        for row in trainer.state.log_history:
            if row.get("kernelbench/null") == 0:
                self.assertAlmostEqual(row["reward"], 0.3 * row["kernelbench/correct"], 4)

    def test_null_is_left_out(self):
        """With a reward that wants a speedup, which is not measured: the right ones have none, the others 0."""
        trainer = self.trainer("--reward", "correct_and_speedup", "--steps", "6")
        trainer.train()
        nulls = self.logged(trainer, "kernelbench/null")
        self.assertEqual(nulls, self.logged(trainer, "kernelbench/correct"))
        self.assertGreater(max(nulls), 0)
        self.assertEqual({each for each in self.logged(trainer, "reward") if not math.isnan(each)}, {0.0})
        self.assertFalse(self.changed(trainer))

    def test_asynchronous(self):
        trainer = self.trainer("--steps", "6", "--generations", "12", make=lambda _, **settings: async_reward_func(AsyncClient(), **settings))
        trainer.train()
        self.assertTrue(self.changed(trainer))

    def test_what_trl_calls(self):
        conversations = [[{"role": "assistant", "content": f"```python\n{source}```"}] for source in (RIGHT, WRONG)] + [[{"role": "assistant", "content": None}]]
        logged = {}
        function = reward_func(**QUICK)
        columns = {"problem": ["1/19"] * 3, "log_metric": logged.__setitem__, "log_extra": logged.__setitem__, "trainer_state": None}
        self.assertEqual(function(prompts=["?"] * 3, completions=conversations, completion_ids=[[1]] * 3, **columns), [0.3, 0.0, 0.0])
        self.assertAlmostEqual(logged["kernelbench/correct"], 1 / 3)
        self.assertIn("elements are wrong", logged["kernelbench"][1])
        self.assertEqual(function.__name__, "kernelbench")
        self.assertEqual(text_of([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]), "ab")
        with self.assertRaisesRegex(ValueError, "no column 'problem'"):
            function(prompts=["?"], completions=["x"], completion_ids=[[1]])

    def test_environment(self):
        """As GRPOTrainer uses one: it takes public methods for tools and draws their schemas from types and texts."""
        environment = environment_factory(**QUICK)()
        self.assertIsNone(environment.reset(prompt="?", problem="1/19"))
        self.assertEqual(environment.get_reward(), 0.0)
        self.assertIn("elements are wrong", environment.submit_kernel(WRONG))
        self.assertIn("correct", environment.submit_kernel(RIGHT))
        self.assertIn("static_rejected", environment.submit_kernel(code="I cannot."))
        self.assertEqual(environment.get_reward(), 0.3)
        environment.reset(problem="1/19")
        self.assertEqual(environment.get_reward(), 0.0)
        schema = get_json_schema(environment.submit_kernel)["function"]
        self.assertEqual((schema["name"], list(schema["parameters"]["properties"])), ("submit_kernel", ["code"]))

    def test_environment_in_the_trainer(self):
        """Two of the tiny model's tokens are calls of the tool."""
        model, tokenizer = model_that_calls(self, (RIGHT, WRONG))
        data = datasets.Dataset.from_list([{"prompt": [{"role": "user", "content": "Make ReLU faster."}], "problem": "1/19"}] * 8)
        settings = trl.GRPOConfig(output_dir=self.enterContext(tempfile.TemporaryDirectory()), max_steps=3, per_device_train_batch_size=8, num_generations=8, max_completion_length=64,
                                  max_tool_calling_iterations=2, learning_rate=1e-2, logging_steps=1, save_strategy="no", report_to="none", use_cpu=True, bf16=False, disable_tqdm=True, seed=1)
        trainer = trl.GRPOTrainer(model=model, args=settings, train_dataset=data, processing_class=tokenizer, environment_factory=environment_factory(**QUICK))
        self.before = {name: weights.clone() for name, weights in trainer.model.named_parameters()}
        trainer.train()
        self.assertGreater(max(self.logged(trainer, "reward")), 0)
        self.assertTrue(self.changed(trainer))


if __name__ == "__main__":
    unittest.main()
