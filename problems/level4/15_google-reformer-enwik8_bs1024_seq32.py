"""Next-character logits of the Reformer for enwik8 (149 million parameters, reversible decoder) for many short texts.

    x[t]   = word[token t] + (axial_0[t div COLUMNS], axial_1[t mod COLUMNS])
    u, v   = x, x
    u      = u + W_out attention(norm(v)),  then  v = v + W_2 relu(W_1 norm(u) + b_1) + b_2,      for each of LAYERS
    logits = W_head norm((u, v)),  a norm over 2 HIDDEN numbers

    attention(z): a v, with a[t, s] = softmax over the s that t looks at of ( q[t] . k[s] / sqrt(HEAD) ), in HEADS heads
    local layer: q, k, v = W_q z, W_k z, W_v z; t looks at every s <= t
    lsh layer:   q = W_qk z, v = W_v z, k[s] = q[s] / sqrt(mean over a head of q[s]^2 + 1e-6); t looks at every s < t,
                 and position 0, which has none, at itself

Input: input_ids, (BATCH, SEQUENCE) of int64 in [0, VOCABULARY). Output: logits, (BATCH, SEQUENCE, VOCABULARY).
The norms are layer norms with epsilon 1e-12. Attention has no biases; `lm_head.bias` is not used. AXIAL_SHAPE is (rows,
COLUMNS) of positions, AXIAL_WIDTHS the numbers from each axis. SEQUENCE <= LOCAL_CHUNK and LSH_CHUNK, so that no
"local" layer cuts the text into chunks and no "lsh" layer hashes.

The package `transformers` builds the model from the configuration below, with random weights. Where the environment
variable KERNELBENCH_WEIGHTS names a directory, the standard size loads its weights, in the library's own format, from
the subdirectory `reformer-enwik8` of it.
"""
import os

import torch
import torch.nn as nn
from transformers import ReformerConfig, ReformerModelWithLMHead

BATCH = 1024
SEQUENCE = 32
VOCABULARY = 258
HIDDEN = 1024
FEED_FORWARD = 4096
LAYERS = ["local", "local", "lsh", "local"] * 3
HEADS = 8
HEAD = 128
LOCAL_CHUNK = 128
LSH_CHUNK = 256
AXIAL_SHAPE = [128, 512]
AXIAL_WIDTHS = [256, 768]
WEIGHTS = "reformer-enwik8"

# Other sizes do not fit the published weights: WEIGHTS = "" makes them random.
SIZES = {
    "small": {"BATCH": 8, "SEQUENCE": 32, "HIDDEN": 192, "FEED_FORWARD": 768, "LAYERS": ["local", "lsh", "local"],
              "HEADS": 3, "HEAD": 64, "AXIAL_SHAPE": [4, 128], "AXIAL_WIDTHS": [48, 144], "WEIGHTS": ""},
    "odd": {"BATCH": 9, "SEQUENCE": 27, "VOCABULARY": 251, "HIDDEN": 165, "FEED_FORWARD": 661,
            "LAYERS": ["local", "lsh", "local"], "HEADS": 5, "HEAD": 31, "AXIAL_SHAPE": [13, 37],
            "AXIAL_WIDTHS": [43, 122], "WEIGHTS": ""},
}
DISTRIBUTIONS = ()
FAMILY = "transformer"


class Model(nn.Module):
    def __init__(self, vocabulary, hidden, feed_forward, layers, heads, head, local_chunk, lsh_chunk, axial_shape,
                 axial_widths, weights):
        super().__init__()
        rows, columns = axial_shape
        config = ReformerConfig(vocab_size=vocabulary, hidden_size=hidden, feed_forward_size=feed_forward,
                                attn_layers=layers, num_attention_heads=heads, attention_head_size=head,
                                local_attn_chunk_length=local_chunk, lsh_attn_chunk_length=lsh_chunk, num_hashes=4,
                                num_buckets=512, hash_seed=0, max_position_embeddings=rows * columns,
                                axial_pos_shape=axial_shape, axial_pos_embds_dim=axial_widths, hidden_act="relu",
                                layer_norm_eps=1e-12, is_decoder=True, hidden_dropout_prob=0.0,
                                local_attention_probs_dropout_prob=0.0, lsh_attention_probs_dropout_prob=0.0,
                                # only for random weights: positions at the library's 1.0 would drown the tokens
                                axial_norm_std=0.02, use_cache=False)
        directory = os.environ.get("KERNELBENCH_WEIGHTS")
        if directory and weights:
            path = os.path.join(directory, weights)
            self.model = ReformerModelWithLMHead.from_pretrained(path, config=config, local_files_only=True).float()
        else:
            self.model = ReformerModelWithLMHead(config)
            for parameter in self.model.parameters():
                if parameter.dim() == 1:  # the library makes biases 0 and gains 1: a kernel without them would pass
                    parameter.data += 0.02 * torch.randn_like(parameter)
        # As from_pretrained leaves it. In training mode AXIAL_SHAPE must be the text's, and forward seeds torch anew.
        self.model.eval()

    def forward(self, input_ids):
        return self.model(input_ids).logits


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, SEQUENCE))]


def get_init_inputs():
    return [VOCABULARY, HIDDEN, FEED_FORWARD, LAYERS, HEADS, HEAD, LOCAL_CHUNK, LSH_CHUNK, AXIAL_SHAPE, AXIAL_WIDTHS,
            WEIGHTS]
