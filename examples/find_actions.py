"""
Actions in several frames
=========================

A hand reaches out, strokes and returns, in three places, orientations and sizes. Which actions do the recordings have
in common, and how do their frames differ?
"""

import matplotlib.pyplot as plt

from homothety import ActionHMM
from homothety.datasets import make_demonstrations
from homothety.metrics import hamming
from homothety.viz import plot_aligned

# %%
# For recordings of your own: ``homothety.datasets.read_sequences("demos/")`` reads one file per recording.

recordings = make_demonstrations(random_state=0, n_per_frame=3)
model = ActionHMM(n_chains=2, n_sweeps=100, random_state=0).fit(recordings)
right = 1 - hamming(recordings.actions, model.actions_)
print(f"{model.n_states_} states are {model.n_actions_} actions; {right:.0%} of the steps have the right one")

# %%
# Rotation and size of every recording, relative to the longest one, with 90 % intervals.

for frame in model.frames_:
    low, high = frame.size_intervals[0]
    print(
        f"{frame.name}: turned by {frame.angle:.0f} degrees (+- {frame.angle_error:.0f}), "
        f"{frame.sizes[0]:.2f} times as large ({low:.2f} to {high:.2f})"
    )

# %%
# Left: the recordings as they were recorded. Right: the same recordings in one frame, as inferred.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.5), subplot_kw={"projection": "3d"}, layout="constrained")
plot_aligned(model, recordings, axes=axes)
plt.show()
