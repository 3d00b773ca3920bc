"""Next-token logits of GPT-2 (124 million parameters, decoder only) for many short texts.

    x[t]   = wte[token t] + wpe[t]
    x      = x + attention(ln_1(x)),  then  x = x + mlp(ln_2(x)),      in each of LAYERS blocks
    logits = ln_f(x) wte^T

    attention(z): q, k, v = the thirds of z W_attn + b_attn, cut into HEADS heads of D = HIDDEN / HEADS numbers
                  a[t, s] = softmax over s <= t of ( q[t] . k[s] / sqrt(D) )
                  (a v, heads joined again) W_proj + b_proj
    mlp(z)      = gelu(z W_fc + b_fc) W_proj + b_proj,  4 HIDDEN numbers in between
    gelu(u)     = u / 2 * (1 + tanh(sqrt(2 / pi) (u + 0.044715 u^3)))

Input: input_ids, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE, VOCABULARY).
The norms are layer norms with epsilon 1e-5. The blocks' weights are stored (inputs, outputs), the other way round than
nn.Linear's. `lm_head.weight` is `transformer.wte.weight`.

The package `transformers` builds the model from the configuration below, with random weights. Where the environment
variable KERNELBENCH_WEIGHTS names a directory, the standard size loads its weights, in the library's own format, from
the subdirectory `gpt2` of it.
"""
import os

import torch
import torch.nn as nn
from transformers import GPT2Config, GPT2LMHeadModel

BATCH = 1024
SEQUENCE = 32
VOCABULARY = 50257
POSITIONS = 1024
HIDDEN = 768
LAYERS = 12
HEADS = 12
WEIGHTS = "gpt2"

# Other sizes do not fit the published weights: WEIGHTS = "" makes them random.
SIZES = {
    "small": {"BATCH": 8, "SEQUENCE": 32, "VOCABULARY": 2048, "POSITIONS": 256, "HIDDEN": 192, "LAYERS": 3,
              "HEADS": 3, "WEIGHTS": ""},
    "odd": {"BATCH": 9, "SEQUENCE": 27, "VOCABULARY": 1999, "POSITIONS": 251, "HIDDEN": 165, "LAYERS": 3, "HEADS": 5,
            "WEIGHTS": ""},
}
DISTRIBUTIONS = ()
FAMILY = "transformer"


class Model(nn.Module):
    def __init__(self, vocabulary, positions, hidden, layers, heads, weights):
        super().__init__()
        config = GPT2Config(vocab_size=vocabulary, n_positions=positions, n_embd=hidden, n_layer=layers, n_head=heads,
                            activation_function="gelu_new", layer_norm_epsilon=1e-5, resid_pdrop=0.0, embd_pdrop=0.0,
                            attn_pdrop=0.0, bos_token_id=None, eos_token_id=None, use_cache=False,
                            initializer_range=hidden**-0.5)  # 0.02 makes attention nearly a plain mean
        directory = os.environ.get("KERNELBENCH_WEIGHTS")
        if directory and weights:
            path = os.path.join(directory, weights)
            self.model = GPT2LMHeadModel.from_pretrained(path, config=config, local_files_only=True).float()
        else:
            self.model = GPT2LMHeadModel(config)
            for parameter in self.model.parameters():
                if parameter.dim() == 1:  # the library makes biases 0 and gains 1: a kernel without them would pass
                    parameter.data += 0.1 * torch.randn_like(parameter)

    def forward(self, input_ids):
        return self.model(input_ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, POSITIONS, HIDDEN, LAYERS, HEADS, WEIGHTS]
