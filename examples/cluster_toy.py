"""
Matrices clustered by shape
===========================

Covariance matrices of three shapes, in any rotation and size, fall into three clusters. The picture shows them as
ellipsoids in the colours of their clusters.
"""

import matplotlib.pyplot as plt

from homothety import SPCMMixture
from homothety.datasets import make_wishart_families
from homothety.metrics import nmi
from homothety.viz import plot_ellipsoids

# %%
# Three shapes (plates, near-balls and cigars), each in six rotations and sizes, estimated from 200 samples.

families = make_wishart_families(3, 3, n_per_family=6, dof=200, scale_spread=0.4, min_separation=0.3, random_state=159)

# %%
# The number of clusters is not given.

model = SPCMMixture(random_state=0).fit(families.matrices)
print(f"{model.n_clusters_} clusters found, NMI with the true families {nmi(families.labels, model.labels_):.2f}")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_ellipsoids(families.matrices, model.labels_, sizes="true", ax=ax)
plt.show()
