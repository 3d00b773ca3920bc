"""Next-token logits of OPT (1.3 billion parameters, decoder only) for one long text.

    x[t]   = embed_tokens[token t] + embed_positions[t + 2]
    x      = x + attention(norm(x)),  then  x = x + W_2 relu(W_1 norm(x) + b_1) + b_2,      in each of LAYERS layers
    logits = norm(x) embed_tokens^T

    attention(z): q, k, v = W_q z + b_q, W_k z + b_k, W_v z + b_v, cut into HEADS heads of D = HIDDEN / HEADS numbers
                  a[t, s] = softmax over s <= t of ( q[t] . k[s] / sqrt(D) )
                  W_out (a v, heads joined again) + b_out

Input: input_ids, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE, VOCABULARY).
The norms are layer norms with epsilon 1e-5 and weights of their own: `self_attn_layer_norm` and `final_layer_norm` of
each layer, and `decoder.final_layer_norm` at the end. Between W_1 and W_2 lie FEED_FORWARD numbers. No token is masked,
whatever its id. `lm_head.weight` is `model.decoder.embed_tokens.weight`.

The package `transformers` builds the model from the configuration below, with random weights. Where the environment
variable KERNELBENCH_WEIGHTS names a directory, the standard size loads its weights, in the library's own format, from
the subdirectory `opt-1.3b` of it.
"""
import os

import torch
import torch.nn as nn
from transformers import OPTConfig, OPTForCausalLM

BATCH = 1
SEQUENCE = 2047
VOCABULARY = 50272
POSITIONS = 2048
HIDDEN = 2048
FEED_FORWARD = 8192
LAYERS = 24
HEADS = 32
WEIGHTS = "opt-1.3b"

# Other sizes do not fit the published weights: WEIGHTS = "" makes them random.
SIZES = {
    "small": {"BATCH": 1, "SEQUENCE": 255, "VOCABULARY": 2048, "POSITIONS": 256, "HIDDEN": 192, "FEED_FORWARD": 768,
              "LAYERS": 3, "HEADS": 3, "WEIGHTS": ""},
    "odd": {"BATCH": 1, "SEQUENCE": 243, "VOCABULARY": 1999, "POSITIONS": 251, "HIDDEN": 165, "FEED_FORWARD": 661,
            "LAYERS": 3, "HEADS": 5, "WEIGHTS": ""},
}
DISTRIBUTIONS = ()
FAMILY = "transformer"


class Model(nn.Module):
    def __init__(self, vocabulary, positions, hidden, feed_forward, layers, heads, weights):
        super().__init__()
        config = OPTConfig(vocab_size=vocabulary, max_position_embeddings=positions, hidden_size=hidden,
                           word_embed_proj_dim=hidden, ffn_dim=feed_forward, num_hidden_layers=layers,
                           num_attention_heads=heads, activation_function="relu", do_layer_norm_before=True,
                           dropout=0.0, attention_dropout=0.0, layerdrop=0.0, use_cache=False,
                           init_std=hidden**-0.5)  # 0.02 makes attention nearly a plain mean
        directory = os.environ.get("KERNELBENCH_WEIGHTS")
        if directory and weights:
            path = os.path.join(directory, weights)
            self.model = OPTForCausalLM.from_pretrained(path, config=config, local_files_only=True).float()
        else:
            self.model = OPTForCausalLM(config)
            for parameter in self.model.parameters():
                if parameter.dim() == 1:  # the library makes biases 0 and gains 1: a kernel without them would pass
                    parameter.data += 0.1 * torch.randn_like(parameter)

    def forward(self, input_ids):
        return self.model(input_ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, POSITIONS, HIDDEN, FEED_FORWARD, LAYERS, HEADS, WEIGHTS]
