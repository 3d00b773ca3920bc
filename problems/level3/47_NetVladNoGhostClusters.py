"""NetVLAD: sets of descriptors summed up by their distances from clusters.

For each of BATCH sets of DESCRIPTORS vectors x[n] of FEATURES numbers:

    a[n, k] = softmax over all k < CLUSTERS + GHOSTS of norm(x[n] . clusters[:, k])
    v[d, k] = sum over n of a[n, k] * (x[n, d] - clusters2[0, d, k])            for k < CLUSTERS only
    u[:, k] = v[:, k] / |v[:, k]|
    y       = u / |u|, flattened with k running fastest

No cluster is left out after the softmax: GHOSTS is 0. `norm` is batch normalisation over all vectors
of the batch, eps 1e-5; a length counts at least 1e-12.

Input: x, (BATCH, DESCRIPTORS, FEATURES). Output: y, (BATCH, FEATURES * CLUSTERS).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2048
DESCRIPTORS = 100
FEATURES = 512
CLUSTERS = 32
GHOSTS = 0

FAMILY = "pooling"
SIZES = {
    "small": {"BATCH": 32},
    "odd": {"BATCH": 29, "DESCRIPTORS": 83, "FEATURES": 391, "CLUSTERS": 37},
}
# Natural inputs point all residuals the same way; "centred" makes them differ.
DISTRIBUTIONS = ("centred", "sparse", "structured")


class Model(nn.Module):
    def __init__(self, cluster_size, feature_size, ghost_clusters):
        super().__init__()
        self.cluster_size = cluster_size
        columns = cluster_size + ghost_clusters
        self.clusters = nn.Parameter(torch.randn(feature_size, columns) / feature_size ** 0.5)
        self.batch_norm = nn.BatchNorm1d(columns)
        self.clusters2 = nn.Parameter(torch.randn(1, feature_size, cluster_size) / feature_size ** 0.5)

    def forward(self, x):
        similarity = self.batch_norm(x.flatten(0, 1) @ self.clusters)
        a = torch.softmax(similarity, dim=1)[:, :self.cluster_size].view(*x.shape[:2], self.cluster_size)
        v = (a.transpose(1, 2) @ x).transpose(1, 2) - a.sum(dim=1, keepdim=True) * self.clusters2
        u = F.normalize(v, dim=1)
        return F.normalize(u.flatten(1), dim=1)


def get_inputs():
    return [torch.rand(BATCH, DESCRIPTORS, FEATURES)]


def get_init_inputs():
    return [CLUSTERS, FEATURES, GHOSTS]
