"""verl's own loader of reward functions, its reward loop (in Ray's workers, as in training) and its batch manager, against the real service."""

import asyncio
import os
import tempfile
import unittest

import numpy as np
import ray
import torch
import transformers
from omegaconf import OmegaConf
from service import QUICK, RIGHT, WRONG, Service
from tensordict import TensorDict
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopManager, RewardLoopWorker
from verl.trainer.ppo.reward import get_custom_reward_fn
from verl.workers.reward_manager.batch import BatchRewardManager

from kernelbench_client._scoring import NoReward

ANSWERS = [f"Here:\n```python\n{source}```\n" for source in (RIGHT, WRONG)] + ["I cannot.", f"```python\n{RIGHT}# again\n```"]
SCORES = [0.3, 0.0, 0.0, 0.3]


def setUpModule():
    global service, tokenizer, directory
    service = Service()
    os.environ["RAY_AUTH_MODE"] = "disabled"  # or Ray writes a token into the home directory
    directory = tempfile.TemporaryDirectory()
    words = Tokenizer(models.BPE({character: i for i, character in enumerate(pre_tokenizers.ByteLevel.alphabet())}, []))
    words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="</s>")
    tokenizer.save_pretrained(directory.name)


def tearDownModule():
    ray.shutdown()
    service.close()
    directory.cleanup()


def configuration(name="compute_score", manager="naive", **more):
    kwargs = {"url": service.url, "token": service.token, **QUICK, **more}
    return OmegaConf.create({
        "actor_rollout_ref": {"model": {"path": directory.name, "tokenizer_path": None}},
        "reward": {"num_workers": 2, "reward_manager": {"source": "register", "name": manager, "module": {"path": None, "name": None}}, "reward_model": {"enable": False},
                   "custom_reward_function": {"path": "pkg://kernelbench_client.verl", "name": name, "reward_kwargs": kwargs}}})


def batch(answers=ANSWERS):
    ids = [tokenizer(answer, add_special_tokens=False)["input_ids"] for answer in answers]
    length = max(map(len, ids))
    responses = torch.tensor([each + [tokenizer.pad_token_id] * (length - len(each)) for each in ids])
    mask = torch.tensor([[1, 1] + [1] * len(each) + [0] * (length - len(each)) for each in ids])
    tensors = TensorDict({"prompts": torch.zeros(len(ids), 2, dtype=torch.long), "responses": responses, "attention_mask": mask}, batch_size=len(ids))
    others = {"data_source": ["kernelbench"] * len(ids), "reward_model": [{"ground_truth": "1/19"} for _ in ids], "extra_info": [{} for _ in ids]}
    return DataProto(batch=tensors, non_tensor_batch={name: np.array(values, dtype=object) for name, values in others.items()})


def last_of(data, scores):
    """Each reward stands at the last token of its response."""
    length = data.batch["attention_mask"][:, 2:].sum(-1) - 1
    return [round(float(row[at]), 4) for row, at in zip(scores, length)]


class Verl(unittest.TestCase):
    def test_reward_loop(self):
        worker = RewardLoopWorker(configuration())
        told = worker.loop.run_until_complete(worker.compute_score_batch(batch()))
        self.assertEqual([each["reward_score"] for each in told], SCORES)
        self.assertEqual([each["reward_extra_info"]["kernelbench_verdict"] for each in told], ["correct", "incorrect", "static_rejected", "correct"])
        self.assertEqual({tuple(sorted(each["reward_extra_info"])) for each in told}, {tuple(sorted(told[0]["reward_extra_info"]))})

    def test_reward_loop_in_workers(self):
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
        data = batch()
        told = RewardLoopManager(configuration()).compute_rm_score(data)
        self.assertEqual(last_of(data, told.batch["rm_scores"]), SCORES)
        self.assertEqual(list(told.non_tensor_batch["acc"]), [1.0, 0.0, 0.0, 1.0])

    def test_batch_manager(self):
        data = batch()
        manager = BatchRewardManager(tokenizer, 0, get_custom_reward_fn(configuration("compute_score_batch")))
        told = manager(data, return_dict=True)
        self.assertEqual(last_of(data, told["reward_tensor"]), SCORES)
        self.assertEqual(told["reward_extra_info"]["kernelbench_null"], [0.0] * 4)

    def test_without_a_number(self):
        compute = get_custom_reward_fn(configuration(reward="correct_and_speedup"))
        with self.assertRaises(NoReward) as none:
            asyncio.run(compute("kernelbench", ANSWERS[0], "1/19"))
        self.assertIn("not_measured", none.exception.detail)
        told = asyncio.run(get_custom_reward_fn(configuration(reward="correct_and_speedup", null_reward=0.5))("kernelbench", ANSWERS[0], "1/19"))
        self.assertEqual((told["score"], told["kernelbench_null"]), (0.5, 1.0))


if __name__ == "__main__":
    unittest.main()
