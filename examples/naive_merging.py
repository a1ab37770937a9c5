"""
Why states of one action cannot simply be merged
================================================

Two states of one action may lie far apart. One Gaussian for both then has another shape than either of them. This is
Section 4.2 of the paper, on its toy data.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

from homothety import ICSCHMM, pairwise_similarity
from homothety.datasets import make_toy_2d
from homothety.viz import plot_ellipses

# %%
# Recordings with four states: two narrow ellipses and two circles.

toy = make_toy_2d(random_state=0)
model = ICSCHMM(n_chains=2, n_sweeps=60, random_state=0).fit(toy.sequences)
means, covariances, actions = model.means_, model.covariances_, model.state_actions_

# %%
# How far apart are the states as they are, and how similar are their shapes, whatever rotation and size?


def bhattacharyya(i, j):
    """Return the Bhattacharyya distance of two states, which compares their means and their covariances."""
    middle, apart = (covariances[i] + covariances[j]) / 2, means[i] - means[j]
    between, *own = np.linalg.det([middle, covariances[i], covariances[j]])
    return apart @ np.linalg.solve(middle, apart) / 8 + np.log(between / np.sqrt(np.prod(own))) / 2


similarity = pairwise_similarity(covariances)
print("states   action     Bhattacharyya distance  similarity of shape")
for i, j in combinations(range(model.n_states_), 2):
    same = "the same" if actions[i] == actions[j] else "different"
    print(f"{i} and {j}  {same:9} {bhattacharyya(i, j):23.1f} {similarity[i, j]:20.2f}")

# %%
# All steps of the two circles as one Gaussian: it is no circle.

circles = np.flatnonzero(actions == actions[np.linalg.cond(covariances).argmin()])
steps = np.concatenate(toy.sequences)[np.isin(np.concatenate(model.paths_), circles)]
merged = np.cov(steps.T)
ratios = np.sqrt(np.linalg.cond([*covariances[circles], merged]))
print(f"long axis to short axis of the circles: {ratios[:-1].round(1)}, merged into one Gaussian: {ratios[-1]:.1f}")

figure, ax = plt.subplots(layout="constrained")
plot_ellipses([*covariances, merged], [*actions, -1], means=[*means, steps.mean(axis=0)], ax=ax)
ax.set_title("two actions; grey: the circles as one Gaussian")
plt.show()
