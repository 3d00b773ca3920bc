"""Is each token the original one? Logits of ELECTRA's small discriminator (14 million parameters) for many short texts.

    x[t]   = W_in norm(word[token t] + position[t] + token_type[0]) + b_in,  from EMBEDDING to HIDDEN numbers
    x      = norm(x + attention(x)),  then  x = norm(x + W_2 gelu(W_1 x + b_1) + b_2),      in each of LAYERS layers
    logits = w . gelu(W_d x + b_d) + b,  one number for each token

    attention(x): q, k, v = W_q x + b_q, W_k x + b_k, W_v x + b_v, cut into HEADS heads of D = HIDDEN / HEADS numbers
                  a[t, s] = softmax over all s of ( q[t] . k[s] / sqrt(D) )
                  W_out (a v, heads joined again) + b_out
    gelu(u)     = u / 2 * (1 + erf(u / sqrt(2)))

Input: input_ids, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE).
The norms are layer norms with epsilon 1e-12. Between W_1 and W_2 lie FEED_FORWARD numbers. No token is masked, whatever
its id.

The package `transformers` builds the model from the configuration below, with random weights. Where the environment
variable KERNELBENCH_WEIGHTS names a directory, the standard size loads its weights, in the library's own format, from
the subdirectory `electra-small-discriminator` of it.
"""
import os

import torch
import torch.nn as nn
from transformers import ElectraConfig, ElectraForPreTraining

BATCH = 1024
SEQUENCE = 32
VOCABULARY = 30522
POSITIONS = 512
EMBEDDING = 128
HIDDEN = 256
FEED_FORWARD = 1024
LAYERS = 12
HEADS = 4
WEIGHTS = "electra-small-discriminator"

# Other sizes do not fit the published weights: WEIGHTS = "" makes them random.
SIZES = {
    "small": {"BATCH": 8, "SEQUENCE": 32, "VOCABULARY": 2048, "POSITIONS": 256, "EMBEDDING": 96, "HIDDEN": 192,
              "FEED_FORWARD": 768, "LAYERS": 3, "HEADS": 3, "WEIGHTS": ""},
    "odd": {"BATCH": 9, "SEQUENCE": 27, "VOCABULARY": 1999, "POSITIONS": 251, "EMBEDDING": 83, "HIDDEN": 165,
            "FEED_FORWARD": 661, "LAYERS": 3, "HEADS": 5, "WEIGHTS": ""},
}
DISTRIBUTIONS = ()
FAMILY = "transformer"


class Model(nn.Module):
    def __init__(self, vocabulary, positions, embedding, hidden, feed_forward, layers, heads, weights):
        super().__init__()
        config = ElectraConfig(vocab_size=vocabulary, max_position_embeddings=positions, embedding_size=embedding,
                               hidden_size=hidden, intermediate_size=feed_forward, num_hidden_layers=layers,
                               num_attention_heads=heads, hidden_act="gelu", layer_norm_eps=1e-12,
                               hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, use_cache=False,
                               initializer_range=hidden**-0.5)  # 0.02 makes attention nearly a plain mean
        directory = os.environ.get("KERNELBENCH_WEIGHTS")
        if directory and weights:
            path = os.path.join(directory, weights)
            self.model = ElectraForPreTraining.from_pretrained(path, config=config, local_files_only=True).float()
        else:
            self.model = ElectraForPreTraining(config)
            for parameter in self.model.parameters():
                if parameter.dim() == 1:  # the library makes biases 0 and gains 1: a kernel without them would pass
                    parameter.data += 0.1 * torch.randn_like(parameter)

    def forward(self, input_ids):
        return self.model(input_ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, POSITIONS, EMBEDDING, HIDDEN, FEED_FORWARD, LAYERS, HEADS, WEIGHTS]
