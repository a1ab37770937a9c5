"""See what five measures take for similar: three shapes, each in many rotations and sizes."""

from matplotlib.figure import Figure

from homothety import SPCMMixture, pairwise_similarity
from homothety.datasets import make_toy_6d
from homothety.metrics import nmi

MEASURES = ("bspcm", "airm", "lerm", "kldm", "jbld")

toy = make_toy_6d(random_state=0, scale="matrix")
figure = Figure(figsize=(12, 2.4), layout="compressed")
for measure, ax in zip(MEASURES, figure.subplots(1, len(MEASURES)), strict=True):
    similarity = pairwise_similarity(toy.matrices, measure=measure)
    # The same mixture for every measure: only what counts as similar differs. Where a measure sees no clear clusters,
    # chains do not agree, and a ConvergenceWarning says so.
    model = SPCMMixture(measure="precomputed", n_sweeps=100, random_state=0).fit(similarity)
    score = nmi(toy.labels, model.labels_)
    print(f"{measure:5}  {model.n_clusters_} clusters (3 true), NMI {score:.2f}")
    ax.imshow(similarity, vmin=0, vmax=1, cmap="cividis")
    ax.set(title=f"{measure}: NMI {score:.2f}", xlabel="matrix", ylabel="matrix" if measure == "bspcm" else "")
figure.savefig("compare_measures.png", dpi=60)
