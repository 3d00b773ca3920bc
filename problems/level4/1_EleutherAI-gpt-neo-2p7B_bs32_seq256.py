"""Next-token logits of GPT-Neo (2.7 billion parameters, decoder only) for a batch of texts.

    x[t]   = wte[token t] + wpe[t]
    x      = x + attention(ln_1(x)),  then  x = x + mlp(ln_2(x)),      in each of LAYERS blocks
    logits = ln_f(x) wte^T

    attention(z): q, k, v = W_q z, W_k z, W_v z, without biases, cut into HEADS heads
                  a[t, s] = softmax over s of ( q[t] . k[s] ): not divided by sqrt(HIDDEN / HEADS)
                            s <= t in blocks 0, 2, 4 …, and t - WINDOW < s <= t in blocks 1, 3, 5 …
                  W_out (a v, heads joined again) + b_out
    mlp(z)      = W_proj gelu(W_fc z + b_fc) + b_proj,  4 HIDDEN numbers in between
    gelu(u)     = u / 2 * (1 + tanh(sqrt(2 / pi) (u + 0.044715 u^3)))

Input: input_ids, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE, VOCABULARY).
LAYERS is even. The norms are layer norms with epsilon 1e-5. Products q . k and the softmax are in fp32 whatever the
precision. `lm_head.weight` is `transformer.wte.weight`.
As SEQUENCE <= WINDOW, the window cuts nothing off: all layers see the same.

The package `transformers` builds the model from the configuration below, with random weights. Where the environment
variable KERNELBENCH_WEIGHTS names a directory, the standard size loads its weights, in the library's own format, from
the subdirectory `gpt-neo-2.7B` of it.
"""
import os

import torch
import torch.nn as nn
from transformers import GPTNeoConfig, GPTNeoForCausalLM

BATCH = 32
SEQUENCE = 256
VOCABULARY = 50257
POSITIONS = 2048
HIDDEN = 2560
LAYERS = 32
HEADS = 20
WINDOW = 256
WEIGHTS = "gpt-neo-2.7B"

# Other sizes do not fit the published weights: WEIGHTS = "" makes them random.
SIZES = {
    "small": {"BATCH": 4, "SEQUENCE": 64, "VOCABULARY": 2048, "POSITIONS": 256, "HIDDEN": 256, "LAYERS": 2,
              "HEADS": 2, "WINDOW": 64, "WEIGHTS": ""},
    "odd": {"BATCH": 3, "SEQUENCE": 77, "VOCABULARY": 1999, "POSITIONS": 251, "HIDDEN": 185, "LAYERS": 2, "HEADS": 5,
            "WINDOW": 79, "WEIGHTS": ""},
}
DISTRIBUTIONS = ()
FAMILY = "transformer"


class Model(nn.Module):
    def __init__(self, vocabulary, positions, hidden, layers, heads, window, weights):
        super().__init__()
        config = GPTNeoConfig(vocab_size=vocabulary, max_position_embeddings=positions, hidden_size=hidden,
                              num_layers=layers, attention_types=[[["global", "local"], layers // 2]], num_heads=heads,
                              window_size=window, activation_function="gelu_new", layer_norm_epsilon=1e-5,
                              resid_dropout=0.0, embed_dropout=0.0, attention_dropout=0.0, bos_token_id=None,
                              eos_token_id=None, use_cache=False, initializer_range=hidden**-0.5)
        directory = os.environ.get("KERNELBENCH_WEIGHTS")
        if directory and weights:
            path = os.path.join(directory, weights)
            self.model = GPTNeoForCausalLM.from_pretrained(path, config=config, local_files_only=True).float()
        else:
            self.model = GPTNeoForCausalLM(config)
            for block in self.model.transformer.h:  # else random logits are so large that softmax keeps rounding errors
                block.attn.attention.q_proj.weight.data *= (hidden // heads) ** -0.5
            for parameter in self.model.parameters():
                if parameter.dim() == 1:  # the library makes biases 0 and gains 1: a kernel without them would pass
                    parameter.data += 0.1 * torch.randn_like(parameter)

    def forward(self, input_ids):
        return self.model(input_ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, POSITIONS, HIDDEN, LAYERS, HEADS, WINDOW, WEIGHTS]
