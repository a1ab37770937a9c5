"""
Robot demonstrations: the actions of a task, wherever it is done
================================================================

Somebody shows a robot a task six times: the hand reaches out, strokes and returns. The workpiece lies in three places,
so that the same action looks different in every place. We want to know the actions, how long each of them takes, and
how the workpiece is turned and resized in a demonstration that is recorded later.

The recordings are made by ``homothety.datasets.make_demonstrations``, so that the answer is known. For recordings of
your own, use ``homothety.datasets.read_sequences("demos/")``.
"""

import matplotlib.pyplot as plt
import numpy as np

from homothety import ActionHMM
from homothety.covariance.rotation import rotation_angle
from homothety.datasets import make_demonstrations
from homothety.metrics import hamming
from homothety.viz import plot_aligned

# %%
# The data
# --------
# Eight demonstrations of a hand's position, in metres, at 50 steps a second; two in each of four places. The model is
# fitted to those in the first three places. The fourth place is new to it.

demonstrations = make_demonstrations(random_state=1, n_frames=4, n_per_frame=2)
known, new = demonstrations.sequences[:6], demonstrations.sequences[6:]
print([len(recording) for recording in known], "steps, then", [len(recording) for recording in new])

# %%
# Find the actions
# ----------------
# ``ActionHMM`` gives every recording a frame of its own (a rotation, a size and a place) and finds the actions in the
# aligned recordings. Nobody sets the number of actions. It never sees the true labels; they are only compared with.

model = ActionHMM(n_chains=2, n_sweeps=100, random_state=0).fit(known)
right = 1 - hamming(demonstrations.actions[:6], model.actions_)
print(f"{model.n_actions_} actions; {right:.0%} of the steps have the right one")

# %%
# How long does each action take?
# -------------------------------
# ``action_segments_`` lists when each action begins and ends.

RATE = 50  # steps a second
for action in range(model.n_actions_):
    seconds = [(one.end - one.start) / RATE for one in model.action_segments_ if one.label == action]
    mean, spread = np.mean(seconds), np.std(seconds)
    print(f"action {action}: {len(seconds)} times, {mean:.1f} s on average (standard deviation {spread:.1f} s)")

# %%
# The same task in a new place
# ----------------------------
# Nothing is fitted again: frames and actions of the new recordings are inferred. Frames are compared with the longest
# recording of the fit, which is called the reference.

true = demonstrations.frames
reference = model.frame_table_.reference
for number, frame in enumerate(model.apply(new).frame_table.rows, start=6):
    turned = rotation_angle(true.rotation[number] @ true.rotation[reference].T)
    resized = true.size[number] / true.size[reference]
    low, high = frame.size_intervals[0]
    print(
        f"recording {number}: turned by {frame.angle:.0f} degrees (in truth {turned:.0f}), "
        f"{frame.sizes[0]:.2f} times as large ({low:.2f} to {high:.2f}; in truth {resized:.2f})"
    )
right = 1 - hamming(demonstrations.actions[6:], model.predict_actions(new))
print(f"{right:.0%} of their steps have the right action")

# %%
# Left: the recordings as they were recorded, coloured by action. Right: the same recordings in one frame. A controller
# for an action can be learned from all recordings at once on the right, and from each place on its own on the left.
#
# **Finding:** six demonstrations in three places are one task of three actions. In a place that the model has never
# seen it finds the same actions, and how the workpiece is turned and resized there.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.5), subplot_kw={"projection": "3d"}, layout="constrained")
plot_aligned(model, known, channels=demonstrations.channels, axes=axes)
plt.show()
