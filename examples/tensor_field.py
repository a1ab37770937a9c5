"""
Regions of a tensor image
=========================

Regions of a made-up diffusion-tensor image that differ by shape, whatever the direction of the fibres. Direction and
size of the tensors change smoothly across the image, so that nothing but shape tells its four regions apart.
"""

import matplotlib.pyplot as plt

from homothety import SPCMMixture
from homothety.datasets import make_dti
from homothety.metrics import nmi
from homothety.viz import plot_label_comparison

# %%
# For an image of your own: ``homothety.datasets.read_matrices("tensors.nii.gz", order="fsl", only_spd=True)``.

field = make_dti((24, 24), n_regions=4, random_state=0)
model = SPCMMixture(n_sweeps=100, random_state=0).fit(field.matrices)
print(f"{model.n_clusters_} regions found, NMI with the true ones {nmi(field.labels, model.labels_):.2f}")

# %%
# Regions found on the left, true ones on the right.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
plot_label_comparison(model.labels_, field.labels, field, axes=axes)
plt.show()
