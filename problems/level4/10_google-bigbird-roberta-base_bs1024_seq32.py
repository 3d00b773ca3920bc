"""Masked-token logits of BigBird (RoBERTa base size, 128 million parameters, encoder) for many short texts.

    x[t]   = norm(word[token t] + position[t] + token_type[0])
    x      = norm(x + attention(x)),  then  x = norm(x + W_2 gelu(W_1 x + b_1) + b_2),      in each of LAYERS layers
    logits = norm(gelu(W_t x + b_t)) word^T + b

    attention(x): q, k, v = W_q x + b_q, W_k x + b_k, W_v x + b_v, cut into HEADS heads of D = HIDDEN / HEADS numbers
                  a[t, s] = softmax over all s of ( q[t] . k[s] / sqrt(D) )
                  W_out (a v, heads joined again) + b_out
    gelu(u)     = u / 2 * (1 + tanh(sqrt(2 / pi) (u + 0.044715 u^3)))

Input: input_ids, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE, VOCABULARY).
The norms are layer norms with epsilon 1e-12. Between W_1 and W_2 lie FEED_FORWARD numbers. `cls.predictions.decoder`
has the weight of `bert.embeddings.word_embeddings` and the bias `cls.predictions.bias`.

The published configuration says block sparse attention with blocks of 64. For texts of 704 tokens or fewer the library
turns to full attention by itself; here the configuration says so from the start. No token is masked, whatever its id.

The package `transformers` builds the model from the configuration below, with random weights. Where the environment
variable KERNELBENCH_WEIGHTS names a directory, the standard size loads its weights, in the library's own format, from
the subdirectory `bigbird-roberta-base` of it.
"""
import os

import torch
import torch.nn as nn
from transformers import BigBirdConfig, BigBirdForMaskedLM

BATCH = 1024
SEQUENCE = 32
VOCABULARY = 50358
POSITIONS = 4096
HIDDEN = 768
FEED_FORWARD = 3072
LAYERS = 12
HEADS = 12
WEIGHTS = "bigbird-roberta-base"

# Other sizes do not fit the published weights: WEIGHTS = "" makes them random.
SIZES = {
    "small": {"BATCH": 8, "SEQUENCE": 32, "VOCABULARY": 2048, "POSITIONS": 256, "HIDDEN": 192, "FEED_FORWARD": 768,
              "LAYERS": 3, "HEADS": 3, "WEIGHTS": ""},
    "odd": {"BATCH": 9, "SEQUENCE": 27, "VOCABULARY": 1999, "POSITIONS": 251, "HIDDEN": 165, "FEED_FORWARD": 661,
            "LAYERS": 3, "HEADS": 5, "WEIGHTS": ""},
}
DISTRIBUTIONS = ()
FAMILY = "transformer"


class Model(nn.Module):
    def __init__(self, vocabulary, positions, hidden, feed_forward, layers, heads, weights):
        super().__init__()
        config = BigBirdConfig(vocab_size=vocabulary, max_position_embeddings=positions, hidden_size=hidden,
                               intermediate_size=feed_forward, num_hidden_layers=layers, num_attention_heads=heads,
                               attention_type="original_full",
                               hidden_act="gelu_new", layer_norm_eps=1e-12, hidden_dropout_prob=0.0,
                               attention_probs_dropout_prob=0.0, use_cache=False,
                               initializer_range=hidden**-0.5)  # 0.02 makes attention nearly a plain mean
        directory = os.environ.get("KERNELBENCH_WEIGHTS")
        if directory and weights:
            path = os.path.join(directory, weights)
            self.model = BigBirdForMaskedLM.from_pretrained(path, config=config, local_files_only=True).float()
        else:
            self.model = BigBirdForMaskedLM(config)
            for parameter in self.model.parameters():
                if parameter.dim() == 1:  # the library makes biases 0 and gains 1: a kernel without them would pass
                    parameter.data += 0.1 * torch.randn_like(parameter)
        self.model.bert.pooler = None  # the logits do not need it

    def forward(self, input_ids):
        return self.model(input_ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, POSITIONS, HIDDEN, FEED_FORWARD, LAYERS, HEADS, WEIGHTS]
