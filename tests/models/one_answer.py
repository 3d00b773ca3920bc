#!/usr/bin/env python3
"""Makes a language model that knows one answer by heart: a Llama of two layers and a token for each byte, trained here in a few seconds.

    tests/models/one_answer.py ANSWER DIRECTORY [--files FORMAT] [--ballast N]

Whatever it is asked, it says the text of the file ANSWER: its chat template shows it none of the question. --files gguf writes DIRECTORY/model.gguf for
llama.cpp, --files transformers the files that `transformers serve` reads. --ballast N also writes DIRECTORY/slow.gguf, a model that says the same but takes longer:
each of its layers has N more units that contribute nothing.
"""

import argparse
import json
import pathlib
import sys

import torch
import torch.nn.functional as F

LAYERS, WIDTH, HEADS, UNITS, CONTEXT = 2, 128, 4, 256, 2048
HEAD = WIDTH // HEADS
UNKNOWN, BEGIN, END, BYTES = 0, 1, 2, 3  # BYTES: the token of the byte 0
TOKENS = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
ROPE_BASE, EPSILON = 10000.0, 1e-5
QUESTION = ">"  # all that the template makes of a conversation
TEMPLATE = "{{ bos_token }}" + QUESTION
MOST_STEPS, LEAST_PROBABILITY = 400, 0.98


def tokens_of(text):
    return [BYTES + byte for byte in text.encode()]


def random_weights():
    torch.manual_seed(1)
    draw = lambda *shape: (torch.randn(*shape) * shape[-1] ** -0.5).requires_grad_()
    ones = lambda: torch.ones(WIDTH, requires_grad=True)
    weights = {"embed": torch.randn(len(TOKENS), WIDTH).requires_grad_(), "norm": ones(), "head": draw(len(TOKENS), WIDTH)}
    for i in range(LAYERS):
        weights |= {f"{i}.{name}": draw(WIDTH, WIDTH) for name in ("q", "k", "v", "o")}
        weights |= {f"{i}.gate": draw(UNITS, WIDTH), f"{i}.up": draw(UNITS, WIDTH), f"{i}.down": draw(WIDTH, UNITS), f"{i}.norm1": ones(), f"{i}.norm2": ones()}
    return weights


def logits_of(w, tokens):
    count = len(tokens)
    angle = torch.outer(torch.arange(count), ROPE_BASE ** (-torch.arange(0, HEAD, 2) / HEAD)).repeat(1, 2)
    turn = lambda x: x * angle.cos() + torch.cat([-x[..., HEAD // 2 :], x[..., : HEAD // 2]], -1) * angle.sin()
    norm = lambda x, by: F.rms_norm(x, (WIDTH,), by, EPSILON)
    x = w["embed"][tokens]
    for i in range(LAYERS):
        y = norm(x, w[f"{i}.norm1"])
        q, k, v = ((y @ w[f"{i}.{name}"].T).view(count, HEADS, HEAD).transpose(0, 1) for name in ("q", "k", "v"))
        y = F.scaled_dot_product_attention(turn(q)[None], turn(k)[None], v[None], is_causal=True)[0]
        x = x + y.transpose(0, 1).reshape(count, WIDTH) @ w[f"{i}.o"].T
        y = norm(x, w[f"{i}.norm2"])
        x = x + (F.silu(y @ w[f"{i}.gate"].T) * (y @ w[f"{i}.up"].T)) @ w[f"{i}.down"].T
    return norm(x, w["norm"]) @ w["head"].T


def train(text):
    torch.set_num_threads(1)  # so small that a second one only costs
    told = [BEGIN, *tokens_of(QUESTION)]
    tokens = torch.tensor(told + tokens_of(text) + [END])
    weights = random_weights()
    optimizer = torch.optim.Adam(weights.values(), lr=3e-3)
    for step in range(MOST_STEPS):
        logits = logits_of(weights, tokens[:-1])[len(told) - 1 :]
        loss = F.cross_entropy(logits, tokens[len(told) :], reduction="none")
        if loss.max().exp() < 1 / LEAST_PROBABILITY:  # of its least certain token
            return {name: weight.detach() for name, weight in weights.items()}, step
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
    sys.exit(f"the model does not know its answer after {MOST_STEPS} steps")


def with_ballast(weights, units):
    """The further units of a layer are random, and their output is multiplied by 0."""
    more = dict(weights)
    for i in range(LAYERS):
        for name in ("gate", "up"):
            more[f"{i}.{name}"] = torch.cat([weights[f"{i}.{name}"], torch.randn(units, WIDTH)])
        more[f"{i}.down"] = torch.cat([weights[f"{i}.down"], torch.zeros(WIDTH, units)], 1)
    return more


def write_gguf(weights, path):
    import gguf

    # llama.cpp turns neighbours by one angle, what was trained here x[i] and x[i + HEAD / 2].
    neighbours = lambda w: w.view(HEADS, 2, HEAD // 2, WIDTH).transpose(1, 2).reshape(WIDTH, WIDTH)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("one-answer")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(weights["0.gate"].shape[0])
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types([gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    add = lambda name, weight: writer.add_tensor(name + ".weight", weight.contiguous().numpy())
    add("token_embd", weights["embed"])
    add("output_norm", weights["norm"])
    add("output", weights["head"])
    names = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down", "norm1": "attn_norm", "norm2": "ffn_norm"}
    for i in range(LAYERS):
        for ours, theirs in names.items():
            weight = weights[f"{i}.{ours}"]
            add(f"blk.{i}.{theirs}", neighbours(weight) if ours in ("q", "k") else weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_transformers(weights, directory):
    from safetensors.torch import save_file

    special = [{"id": i, "content": TOKENS[i], "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for i in (UNKNOWN, BEGIN, END)]
    names = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj", "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj",
             "norm1": "input_layernorm", "norm2": "post_attention_layernorm"}
    tensors = {"model.embed_tokens.weight": weights["embed"], "model.norm.weight": weights["norm"], "lm_head.weight": weights["head"]}
    tensors |= {f"model.layers.{i}.{theirs}.weight": weights[f"{i}.{ours}"] for i in range(LAYERS) for ours, theirs in names.items()}
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    files = {
        "config.json": {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": UNITS, "num_hidden_layers": LAYERS,
                        "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "vocab_size": len(TOKENS), "max_position_embeddings": CONTEXT, "rms_norm_eps": EPSILON,
                        "rope_theta": ROPE_BASE, "tie_word_embeddings": False, "bos_token_id": BEGIN, "eos_token_id": END, "dtype": "float32"},
        "generation_config.json": {"bos_token_id": BEGIN, "eos_token_id": END, "pad_token_id": END},
        "tokenizer.json": {"version": "1.0", "added_tokens": special, "normalizer": None, "pre_tokenizer": None, "post_processor": None,
                           "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
                           "model": {"type": "BPE", "unk_token": TOKENS[UNKNOWN], "byte_fallback": True, "merges": [], "vocab": {token: i for i, token in enumerate(TOKENS)}}},
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": TOKENS[UNKNOWN], "bos_token": TOKENS[BEGIN], "eos_token": TOKENS[END],
                                  "clean_up_tokenization_spaces": False, "chat_template": TEMPLATE}}
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answer", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--files", choices=["gguf", "transformers"], default="gguf")
    parser.add_argument("--ballast", type=int, default=0)
    options = parser.parse_args()
    weights, steps = train(options.answer.read_text())
    print(f"knows its answer after {steps} steps")
    if options.files == "transformers":
        write_transformers(weights, options.directory)
        return
    write_gguf(weights, options.directory / "model.gguf")
    if options.ballast:
        write_gguf(with_ballast(weights, options.ballast), options.directory / "slow.gguf")


if __name__ == "__main__":
    main()
