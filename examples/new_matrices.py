"""
A saved model on new matrices
=============================

Fit once, save the model, and ask it later which cluster new matrices belong to.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

import homothety
from homothety import SPCMMixture
from homothety.datasets import make_wishart_families
from homothety.viz import plot_spectra

families = make_wishart_families(3, 6, n_per_family=40, dof=200, random_state=0)
items = np.arange(len(families))
fitted, new = families.take(items[::2]), families.take(items[1::2])

# %%
# A file of a model has arrays and JSON. Reading it runs no code.

with TemporaryDirectory() as folder:
    path = Path(folder) / "shapes.homothety"
    SPCMMixture(random_state=0).fit(fitted.matrices).save(path)
    model = homothety.load(path)

probability = model.predict_proba(new.matrices)
clusters = probability.argmax(axis=1)
least = probability.max(axis=1).min()
print(f"{len(new)} new matrices in {model.n_clusters_} clusters; the most uncertain has a probability of {least:.3f}")

# %%
# The axis lengths of the new matrices, in the colours of their clusters.

figure, ax = plt.subplots(layout="constrained")
plot_spectra(new.matrices, clusters, ax=ax)
plt.show()
