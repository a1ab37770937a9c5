"""Fit once, save the model, and tell later which cluster new matrices belong to."""

import numpy as np

import homothety
from homothety import SPCMMixture
from homothety.datasets import make_wishart_families
from homothety.viz import plot_spectra

families = make_wishart_families(3, 6, n_per_family=40, dof=200, random_state=0)
items = np.arange(len(families))
fitted, new = families.take(items[::2]), families.take(items[1::2])

SPCMMixture(random_state=0).fit(fitted.matrices).save("shapes.homothety")

model = homothety.load("shapes.homothety")  # on another day; reading the file runs no code
probability = model.predict_proba(new.matrices)
clusters = probability.argmax(axis=1)
print(f"{len(new)} new matrices in {model.n_clusters_} clusters, least sure with {probability.max(axis=1).min():.3f}")

ax = plot_spectra(new.matrices, clusters)
ax.figure.savefig("new_matrices.png", dpi=100)
