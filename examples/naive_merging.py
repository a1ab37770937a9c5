"""Why states of one action cannot simply be merged: they stand too far apart, and one Gaussian loses their shape.

The paper's Section 4.2 on its toy series, which have two narrow ellipses and two circles for states.
"""

from itertools import combinations

import numpy as np

from homothety import ICSCHMM, pairwise_similarity
from homothety.datasets import make_toy_2d
from homothety.viz import plot_ellipses

toy = make_toy_2d(random_state=0)
model = ICSCHMM(n_chains=2, n_sweeps=60, random_state=0).fit(toy.sequences)
means, covariances, actions = model.means_, model.covariances_, model.state_actions_


def bhattacharyya(i, j):
    """Distance of two states as they stand: where they are, and how they spread."""
    middle, apart = (covariances[i] + covariances[j]) / 2, means[i] - means[j]
    between, *own = np.linalg.det([middle, covariances[i], covariances[j]])
    return apart @ np.linalg.solve(middle, apart) / 8 + np.log(between / np.sqrt(np.prod(own))) / 2


similarity = pairwise_similarity(covariances)  # whatever their rotation and scale
print("states   action     distance as they stand  similarity of shape")
for i, j in combinations(range(model.n_states_), 2):
    same = "the same" if actions[i] == actions[j] else "different"
    print(f"{i} and {j}  {same:9} {bhattacharyya(i, j):23.1f} {similarity[i, j]:20.2f}")

circles = np.flatnonzero(actions == actions[np.linalg.cond(covariances).argmin()])
steps = np.concatenate(toy.sequences)[np.isin(np.concatenate(model.paths_), circles)]
merged = np.cov(steps.T)
ratios = np.sqrt(np.linalg.cond([*covariances[circles], merged]))
print(f"long axis to short axis of the circles: {ratios[:-1].round(1)}, merged into one Gaussian: {ratios[-1]:.1f}")

ax = plot_ellipses([*covariances, merged], [*actions, -1], means=[*means, steps.mean(axis=0)])
ax.set_title("two actions; grey: the circles as one Gaussian")
ax.figure.savefig("naive_merging.png", dpi=100)
