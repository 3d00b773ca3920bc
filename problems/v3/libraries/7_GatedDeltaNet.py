"""The gated delta rule by flash-linear-attention, in bf16 with fp32 sums, for which its kernels are made."""
PACKAGE = "fla-core"
VERSION = "0.6"

from fla.ops.gated_delta_rule import chunk_gated_delta_rule  # noqa: E402


def gated_delta_rule(q, k, v, log_alpha, beta):
    """As the problem's function. The library has time before heads."""
    q, k, v, beta, log_alpha = (z.transpose(1, 2) for z in (q, k, v, beta, log_alpha))
    narrow = (z.bfloat16() for z in (q, k, v))
    o, _ = chunk_gated_delta_rule(*narrow, g=log_alpha.squeeze(-1), beta=beta.squeeze(-1), scale=1.0)
    return o.transpose(1, 2)
