"""
Which matrices five measures call similar
=========================================

Three shapes, each in many rotations and sizes: B-SPCM, the measure of the paper, calls matrices of one shape similar.
Four standard measures compare size and direction too, and see other groups.
"""

import matplotlib.pyplot as plt

from homothety import SPCMMixture, pairwise_similarity
from homothety.datasets import make_toy_6d
from homothety.metrics import nmi

MEASURES = ("bspcm", "airm", "lerm", "kldm", "jbld")

# %%
# The same mixture clusters by every measure. Where a measure sees no clear clusters, the chains do not agree, and a
# ``ConvergenceWarning`` says so.

toy = make_toy_6d(random_state=0, scale="matrix")
figure, axes = plt.subplots(1, len(MEASURES), figsize=(12, 2.8), layout="constrained")
for measure, ax in zip(MEASURES, axes, strict=True):
    similarity = pairwise_similarity(toy.matrices, measure=measure)
    model = SPCMMixture(measure="precomputed", n_sweeps=100, random_state=0).fit(similarity)
    score = nmi(toy.labels, model.labels_)
    print(f"{measure:5}  {model.n_clusters_} clusters (3 true), NMI {score:.2f}")
    ax.imshow(similarity, vmin=0, vmax=1, cmap="cividis")
    ax.set(title=f"{measure}: NMI {score:.2f}", xlabel="matrix", ylabel="matrix" if measure == "bspcm" else "")
plt.show()
