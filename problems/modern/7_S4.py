"""S4 layer: for each channel a convolution as long as the sequence, whose kernel is a linear system's response.

Channel h has a system of 2 * PAIRS complex states, A and B the same for all channels, with steps of length d[h]:

    A    = diag(lambda) - p p^*,  lambda = -exp(log_decay) + i frequency         p p^*: outer product with the conjugate
    s[t] = A' s[t - 1] + B' u[h, t],  z[h, t] = C[h] s[t] + D[h] u[h, t]         s[-1] = 0
    A'   = (1 - d/2 A)^-1 (1 + d/2 A),  B' = (1 - d/2 A)^-1 d B                  d = exp(log_step[h])

lambda, p, B and C hold PAIRS numbers followed by their conjugates, so z is real. Over all channels then

    y = v * sigmoid(g),  (v, g) = the two halves of W gelu(z[., t]) + b          gelu with erf

The recurrence is a convolution: z[h, t] = sum over j <= t of K[h, j] u[h, t - j] + D[h] u[h, t] with K[h, j] =
C[h] A'^j B', whose discrete Fourier transform is, with w = exp(-2 pi i k / LENGTH), k < LENGTH,

    K^[k]   = 2 ( r(E, B) - (1 + w) r(E, p) r(p*, B) / (1 + (1 + w) r(p*, p)) )
    r(x, y) = sum over the states n of x[n] y[n] / ( 2/d (1 - w) - (1 + w) lambda[n] ),  p*: the conjugate of p

with E = C (1 - A'^LENGTH). The parameter `C` holds E, not C; `p`, `B` and `C` hold (real, imaginary) parts.

Input: u, (BATCH, CHANNELS, LENGTH). Output: y, the same shape. The kernel and the transforms are computed in fp32 at
least. lambda, p and B start near the normal and low-rank parts of the HiPPO-LegS matrix, disturbed at random.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CHANNELS = 16
LENGTH = 256
PAIRS = 32
SHORTEST_STEP = 0.001
LONGEST_STEP = 0.1

FAMILY = "state space"
SIZES = {
    "small": {"BATCH": 6, "CHANNELS": 12, "LENGTH": 192, "PAIRS": 24},
    "odd": {"BATCH": 5, "CHANNELS": 13, "LENGTH": 173, "PAIRS": 21},
}
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


def hippo(pairs):
    """Frequencies of the normal part of HiPPO-LegS, ascending, and how long its low-rank vector is along each."""
    root = (2 * torch.arange(2 * pairs, dtype=torch.float64) + 1).sqrt()
    product = 0.5 * torch.outer(root, root)
    values, vectors = torch.linalg.eigh(-1j * (product.triu(1) - product.tril(-1)))
    along = (vectors.mH @ (root / math.sqrt(2)).to(vectors.dtype)).abs()
    return values[pairs:].float(), along[pairs:].float()


def complex_randn(*shape):
    return torch.randn(*shape, dtype=torch.complex64)


class Model(nn.Module):
    def __init__(self, channels, pairs, shortest_step, longest_step):
        super().__init__()
        frequency, along = hippo(pairs)
        p = along * torch.exp(2j * math.pi * torch.rand(pairs))
        b = math.sqrt(2) * p * (1 + 0.3 * complex_randn(pairs))
        self.log_step = nn.Parameter(torch.empty(channels).uniform_(math.log(shortest_step), math.log(longest_step)))
        self.log_decay = nn.Parameter(math.log(0.5) + 0.2 * torch.randn(pairs))
        self.frequency = nn.Parameter(frequency * (1 + 0.02 * torch.randn(pairs)))
        self.p = nn.Parameter(torch.view_as_real(p))
        self.B = nn.Parameter(torch.view_as_real(b))
        self.C = nn.Parameter(torch.view_as_real(complex_randn(channels, pairs)))
        self.D = nn.Parameter(torch.randn(channels))
        self.mix = nn.Conv1d(channels, 2 * channels, 1)

    def forward(self, u):
        length = u.shape[-1]
        wide = u.to(torch.promote_types(u.dtype, torch.float32))
        kernel = self.kernel(length, wide)
        spectrum = torch.fft.rfft(kernel, n=2 * length) * torch.fft.rfft(wide, n=2 * length)
        z = torch.fft.irfft(spectrum, n=2 * length)[..., :length] + self.D.to(wide.dtype).unsqueeze(1) * wide
        return F.glu(self.mix(F.gelu(z).to(u.dtype)), dim=1)

    def kernel(self, length, like):
        """K, (channels, length), in the precision of `like`."""
        decay, step = self.log_decay.to(like.dtype).exp(), self.log_step.to(like.dtype).exp()
        eigenvalues = torch.complex(-decay, self.frequency.to(like.dtype))
        p, b, c = (torch.view_as_complex(part.to(like.dtype)) for part in (self.p, self.B, self.C))

        # (channels, half of the transform, pairs); the other half of the transform is its conjugate.
        angle = torch.arange(length // 2 + 1, dtype=like.dtype, device=like.device) * (-2 * math.pi / length)
        w = torch.polar(torch.ones_like(angle), angle).unsqueeze(1)
        start = (2 / step).view(-1, 1, 1) * (1 - w)
        over, over_conjugate = 1 / (start - (1 + w) * eigenvalues), 1 / (start - (1 + w) * eigenvalues.conj())

        def r(x, y):
            product = (x * y).unsqueeze(-2)
            return (product * over + product.conj() * over_conjugate).sum(dim=-1)

        w = w.squeeze(1)
        correction = (1 + w) * r(c, p) * r(p.conj(), b) / (1 + (1 + w) * r(p.conj(), p))
        return torch.fft.irfft(2 * (r(c, b) - correction), n=length)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS, PAIRS, SHORTEST_STEP, LONGEST_STEP]
