"""Logits of BART (large: 406 million parameters, encoder and decoder) for one long text.

    e[t]   = norm(shared[token t] + encoder_positions[t + 2])
    e      = norm(e + attention(e, e)),  then  e = norm(e + mlp(e)),      in each of LAYERS encoder layers
    d[t]   = norm(shared[token t - 1] + decoder_positions[t + 2]),  with token 2 (end of text) before the first
    d      = norm(d + causal attention(d, d)),  d = norm(d + attention(d, e)),  d = norm(d + mlp(d)),      LAYERS times
    logits = d shared^T + final_logits_bias

    attention(z, y): q = W_q z + b_q, k = W_k y + b_k, v = W_v y + b_v, in HEADS heads of D = HIDDEN / HEADS numbers
                     a[t, s] = softmax over s (causal: over s <= t) of ( q[t] . k[s] / sqrt(D) )
                     W_out (a v, heads joined again) + b_out
    mlp(z)         = W_2 gelu(W_1 z + b_1) + b_2,  FEED_FORWARD numbers in between
    gelu(u)        = u / 2 * (1 + erf(u / sqrt(2)))

Input: input_ids, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY); the decoder reads the same tokens, one position later.
Output: logits, (BATCH, SEQUENCE, VOCABULARY). The norms are layer norms with epsilon 1e-5. No token is masked, whatever
its id. The buffer `final_logits_bias` is 0. `lm_head.weight` and both embeddings are `model.shared.weight`.

The package `transformers` builds the model from the configuration below, with random weights. Where the environment
variable KERNELBENCH_WEIGHTS names a directory, the standard size loads its weights, in the library's own format, from
the subdirectory `bart-large` of it.
"""
import os

import torch
import torch.nn as nn
from transformers import BartConfig, BartForConditionalGeneration

BATCH = 1
SEQUENCE = 1023
VOCABULARY = 50265
POSITIONS = 1024
HIDDEN = 1024
FEED_FORWARD = 4096
LAYERS = 12
HEADS = 16
WEIGHTS = "bart-large"

# Other sizes do not fit the published weights: WEIGHTS = "" makes them random.
SIZES = {
    "small": {"BATCH": 1, "SEQUENCE": 223, "VOCABULARY": 2048, "POSITIONS": 256, "HIDDEN": 192, "FEED_FORWARD": 768,
              "LAYERS": 2, "HEADS": 3, "WEIGHTS": ""},
    "odd": {"BATCH": 1, "SEQUENCE": 213, "VOCABULARY": 1999, "POSITIONS": 251, "HIDDEN": 165, "FEED_FORWARD": 661,
            "LAYERS": 2, "HEADS": 5, "WEIGHTS": ""},
}
DISTRIBUTIONS = ()
FAMILY = "transformer"


class Model(nn.Module):
    def __init__(self, vocabulary, positions, hidden, feed_forward, layers, heads, weights):
        super().__init__()
        config = BartConfig(vocab_size=vocabulary, max_position_embeddings=positions, d_model=hidden,
                            encoder_ffn_dim=feed_forward, decoder_ffn_dim=feed_forward, encoder_layers=layers,
                            decoder_layers=layers, encoder_attention_heads=heads, decoder_attention_heads=heads,
                            activation_function="gelu", decoder_start_token_id=2, dropout=0.0, attention_dropout=0.0,
                            activation_dropout=0.0, encoder_layerdrop=0.0, decoder_layerdrop=0.0, use_cache=False,
                            init_std=hidden**-0.5)  # 0.02 makes attention nearly a plain mean
        directory = os.environ.get("KERNELBENCH_WEIGHTS")
        if directory and weights:
            path = os.path.join(directory, weights)
            self.model = BartForConditionalGeneration.from_pretrained(path, config=config, local_files_only=True)
            self.model.float()
        else:
            self.model = BartForConditionalGeneration(config)
            for parameter in self.model.parameters():
                if parameter.dim() == 1:  # the library makes biases 0 and gains 1: a kernel without them would pass
                    parameter.data += 0.1 * torch.randn_like(parameter)

    def forward(self, input_ids):
        return self.model(input_ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, POSITIONS, HIDDEN, FEED_FORWARD, LAYERS, HEADS, WEIGHTS]
