"""
Diffusion tensors: tissue found by shape alone
==============================================

A diffusion tensor says how far water moves in each direction. Its shape says how anisotropic the tissue is, its size
how far water moves on average (mean diffusivity), and its axes say where fibres point. We cluster the tensors of a
small image by shape alone: size, direction and position in the image are not used.

The image is part of the library DIPY (10 x 10 x 10 voxels, 64 gradient directions). To read an image of tensors that
another program has fitted, use ``homothety.datasets.read_matrices("tensors.nii.gz", order="fsl", only_spd=True)``.
"""

import matplotlib.pyplot as plt
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.data import get_fnames
from dipy.io.gradients import read_bvals_bvecs
from dipy.io.image import load_nifti
from dipy.reconst.dti import TensorModel

from homothety import SPCMMixture
from homothety.viz import plot_label_image

# %%
# Fit the tensors with DIPY
# -------------------------
# Some voxels have tensors that are not positive definite. They have no shape and are left out.

image, *gradient_files = get_fnames(name="small_64D")
signal, _ = load_nifti(image)
bvals, bvecs = read_bvals_bvecs(*gradient_files)
fit = TensorModel(gradient_table(bvals, bvecs=bvecs)).fit(signal)
valid = fit.evals.min(axis=-1) > 1e-6  # mm²/s
tensors = fit.quadratic_form[valid]
print(len(tensors), "tensors in", valid.size, "voxels")

# %%
# Cluster them by shape
# ---------------------
# With 400 sweeps of each chain, ``fit`` warns by a ``ConvergenceWarning``: the four chains agree on the number of
# clusters but not yet on every voxel. Tissue does not change in steps, so that voxels at the border of two clusters
# may belong to either.

model = SPCMMixture(n_sweeps=400, random_state=0).fit(tensors)
fa, md = fit.fa[valid], fit.md[valid]
print("cluster  voxels  fractional anisotropy  mean diffusivity (10⁻³ mm²/s)")
for cluster in range(model.n_clusters_):
    inside = model.labels_ == cluster
    print(f"{cluster:7} {inside.sum():7} {np.median(fa[inside]):22.2f} {1000 * np.median(md[inside]):30.1f}")

# %%
# Free water
# ----------
# Free water at body temperature has a diffusivity of about 3.0 in these units, healthy tissue between 0.6 and 1.0. Mean
# diffusivity was never shown to the model. Where does the cluster of the roundest tensors lie?

roundest = min(range(model.n_clusters_), key=lambda cluster: np.median(fa[model.labels_ == cluster]))
watery = md > 0.002
share = (model.labels_[watery] == roundest).mean()
print(f"{share:.0%} of the {watery.sum()} voxels with a mean diffusivity above 2.0 are in cluster {roundest}")

# %%
# Left: the clusters in one slice. Right: the mean diffusivity of the same slice. The region of free water (a ventricle)
# is the cluster of round tensors.
#
# **Finding:** shape alone separates fluid from tissue, and in the tissue strongly anisotropic white matter from the
# rest. The size of the tensors, which was not used, confirms it.

SLICE = 5
labels = np.full(valid.shape, -1)
labels[valid] = model.labels_
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot_label_image(labels, index=SLICE, ax=left)
left.set_title("clusters by shape")
drawn = right.imshow(1000 * fit.md[:, :, SLICE].T, origin="lower", cmap="cividis", vmin=0, vmax=3)
right.set(title="mean diffusivity, not used", xlabel="x", ylabel="y")
figure.colorbar(drawn, ax=right, label="10⁻³ mm²/s")
plt.show()
