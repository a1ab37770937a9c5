"""Find the regions of a diffusion-tensor image that differ by shape, whatever the direction of the fibres."""

from homothety import SPCMMixture
from homothety.datasets import make_dti
from homothety.metrics import nmi
from homothety.viz import plot_label_comparison

# Direction and size of the tensors change smoothly across the image; only shape tells its four regions.
# For an image of your own: homothety.datasets.read_matrices("tensors.nii.gz", order="fsl", only_spd=True).
field = make_dti((24, 24), n_regions=4, random_state=0)

model = SPCMMixture(n_sweeps=100, random_state=0).fit(field.matrices)
print(f"{model.n_clusters_} regions found, NMI with the true ones {nmi(field.labels, model.labels_):.2f}")

found, _ = plot_label_comparison(model.labels_, field.labels, field)
found.figure.savefig("tensor_field.png", dpi=100)
