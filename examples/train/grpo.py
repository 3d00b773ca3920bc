#!/usr/bin/env python3
"""Trains a model with GRPO on verdicts of a running service (docs/guide/training.md).

    kernelbench service start
    examples/train/grpo.py                                                  # a tiny model that is made on the spot, on a CPU, in a minute
    examples/train/grpo.py --model Qwen/Qwen3-0.6B --problems 1/19 1/25 1/26 --size standard --protocol strict --steps 200

The tiny model is a random Llama. Four of its tokens are whole answers, one of them right: it learns to say that one. KERNELBENCH_URL and KERNELBENCH_TOKEN say where
the service is, if it is not this machine's own. Needs kernelbench-client[trl].
"""

import argparse
import json
import tempfile

import datasets
import transformers
import trl
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from kernelbench_client import Client
from kernelbench_client.prompts import rows
from kernelbench_client.trl import reward_func

RIGHT = """```python
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0)
```"""
ANSWERS = [RIGHT, RIGHT.replace("x.clamp(min=0)", "x.abs()"), RIGHT.replace("x.clamp(min=0)", "x.clamp(min=0"), "It depends on the machine."]


def tiny_model():
    """(model, tokenizer). Words of a question are all unknown to it."""
    vocabulary = ["<pad>", "<s>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_tokens([AddedToken(answer, normalized=False) for answer in ANSWERS])
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    transformers.set_seed(1)
    configuration = transformers.LlamaConfig(vocab_size=len(wrapped), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=4096,
                                             pad_token_id=0, bos_token_id=1, eos_token_id=2)
    return transformers.LlamaForCausalLM(configuration), wrapped


def trainer_of(arguments, client, directory, make=reward_func):
    questions = list(rows(client, arguments.problems))
    tiny = arguments.model is None
    model, tokenizer = tiny_model() if tiny else (arguments.model, None)
    if not tiny:
        questions = [{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in questions]
    reward = make(client, reward=arguments.reward, size=arguments.size, protocol=arguments.protocol, keys=arguments.keys, run=arguments.run, model=arguments.model or "tiny")
    settings = trl.GRPOConfig(
        output_dir=directory, max_steps=arguments.steps, per_device_train_batch_size=arguments.generations, num_generations=arguments.generations,
        max_completion_length=2 if tiny else arguments.tokens, learning_rate=1e-2 if tiny else 1e-6, logging_steps=1, save_strategy="no", report_to="none", use_cpu=tiny, bf16=not tiny,
        disable_tqdm=True, seed=1)
    data = datasets.Dataset.from_list(questions * max(1, arguments.steps // len(questions)))
    return trl.GRPOTrainer(model=model, reward_funcs=[reward], args=settings, train_dataset=data, processing_class=tokenizer)


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="of Hugging Face, or a directory; without it the tiny one")
    parser.add_argument("--problems", nargs="+", default=["1/19"])
    parser.add_argument("--size", default="small")
    parser.add_argument("--protocol", default="quick")
    parser.add_argument("--keys", type=json.loads, help="of the protocol, as JSON")
    parser.add_argument("--reward", default="sure_gain")
    parser.add_argument("--run", help="under which its evaluations are kept")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--generations", type=int, default=8, help="answers to a question")
    parser.add_argument("--tokens", type=int, default=4096, help="of an answer, at most")
    parser.add_argument("--output", help="where the trained model goes")
    return parser.parse_args(words)


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as directory:
        trainer = trainer_of(arguments, Client(), arguments.output or directory)
        trainer.train()
        if arguments.output:
            trainer.save_model()
    for row in trainer.state.log_history:
        if "reward" in row:
            told = {name.removeprefix("kernelbench/"): value for name, value in row.items() if name.startswith("kernelbench/")}
            print(f"step {row['step']}: reward {row['reward']:.3f}, " + ", ".join(f"{name} {value:.2f}" for name, value in told.items()))


if __name__ == "__main__":
    main()
