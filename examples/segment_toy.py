"""
States that recordings share
============================

Recordings are segmented into states, some of which they share. Where are the changes, and how certain is each?
"""

import matplotlib.pyplot as plt

from homothety import IBPHMM
from homothety.datasets import make_toy_2d
from homothety.metrics import hamming
from homothety.viz import plot_segmentation

# %%
# Four recordings of two channels; each changes between two of four states. For recordings of your own:
# ``homothety.datasets.read_sequences("demos/")`` reads one file per recording.

toy = make_toy_2d(random_state=3, n_steps=200)
model = IBPHMM(n_chains=2, n_sweeps=150, random_state=0).fit(toy.sequences)
wrong = hamming(toy.states, model.paths_)
print(f"{model.n_states_} states in {len(model.segments_)} segments; {wrong:.1%} of steps wrong")

# %%
# Changes of one recording, with 90 % intervals and the share of segmentations that have the change at all.

number = 2
boundaries = [boundary for boundary in model.boundaries_ if boundary.series == number]
for boundary in boundaries:
    print(f"change at step {boundary.step}: between {boundary.low} and {boundary.high}, in {boundary.share:.0%}")

figure, axes = plt.subplots(2, sharex=True, height_ratios=(3, 1), figsize=(8, 4.5), layout="constrained")
plot_segmentation(
    toy.sequences[number],
    model.paths_[number],
    model.change_probability_[number],
    boundaries=boundaries,
    channels=toy.channels,
    title="one of four recordings",
    axes=axes,
)
plt.show()
