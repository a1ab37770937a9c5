"""
Motion capture: activities of a wrist, however the watch is worn
================================================================

Eighty short recordings of a smart watch: people stand, walk, run or play badminton. Which recordings are the same
activity, if nobody has labelled them? Each recording becomes one matrix, the covariance of its accelerations. How the
watch is fastened to the wrist turns that matrix, but changes neither its shape nor its size.

The data are *BasicMotions*, recorded by students and part of the library aeon: acceleration along three axes and
angular velocity about three axes, 10 s at 10 Hz.
"""

import matplotlib.pyplot as plt
import numpy as np
from aeon.datasets import load_basic_motions
from scipy.spatial.transform import Rotation

from homothety import SPCMMixture
from homothety.covariance import eigenvalues, sample_covariances
from homothety.metrics import nmi
from homothety.viz import cluster_colors

# %%
# The data
# --------

recordings, activities = load_basic_motions()  # recordings has shape (n_recordings, n_channels, n_steps)
accelerations = recordings[:, :3].swapaxes(1, 2)
covariances = sample_covariances(accelerations, shrinkage="oas")
print(covariances.shape, "covariances;", ", ".join(np.unique(activities)))

# %%
# Does shape suffice?
# -------------------
# By default only the shape counts: whether a wrist shakes along a line, in a plane, or in all directions.


def compare(model):
    """Print how many recordings of each activity are in each cluster."""
    print(f"{model.n_clusters_} clusters, NMI with the activities {nmi(activities, model.labels_):.2f}")
    for activity in np.unique(activities):
        print(f"{activity:10}", np.bincount(model.labels_[activities == activity], minlength=model.n_clusters_))


compare(SPCMMixture(n_sweeps=200, random_state=0).fit(covariances))

# %%
# It does not: standing and walking have the same shapes. Their sizes differ, since a wrist moves less in standing.
#
# Shape and size together
# -----------------------
# ``size="use"`` lets the size count as well. A ``ConvergenceWarning`` says that chains differ in their number of
# clusters.

model = SPCMMixture(size="use", random_state=0).fit(covariances)
compare(model)

# %%
# Watches that are worn another way
# ---------------------------------
# We turn every watch into an orientation of its own. Shapes and sizes stay the same, and so do the clusters.

turns = Rotation.random(len(covariances), random_state=0).as_matrix()
turned = model.predict(turns @ covariances @ turns.swapaxes(1, 2))
print(f"{(turned == model.labels_).sum()} of {len(turned)} recordings stay in their cluster")

# %%
# Size and shape of every covariance, in the colours of the clusters. Standing and walking are of one shape, running and
# badminton nearly of one size. The two numbers together separate all four activities.
#
# **Finding:** without labels, shape and size of the covariance of accelerations give the four activities without an
# error, and the orientation of the watch does not matter.

lengths = np.sqrt(eigenvalues(covariances))  # ascending, (n_recordings, 3)
size, elongation = np.exp(np.log(lengths).mean(axis=1)), lengths[:, -1] / lengths[:, 0]
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
for cluster, color in enumerate(cluster_colors(model.n_clusters_)):
    inside = model.labels_ == cluster
    ax.semilogx(size[inside], elongation[inside], "o", color=color, label=f"{cluster}: {activities[inside][0]}")
ax.set(xlabel="size (geometric mean of the axis lengths)", ylabel="longest axis relative to the shortest one")
ax.legend(title="cluster")
plt.show()
