"""Segment series into states that some of them share, and see where the changes are and how sure that is."""

from homothety import IBPHMM
from homothety.datasets import make_toy_2d
from homothety.metrics import hamming
from homothety.viz import plot_segmentation

# Four series of two channels; each changes between two of four states. For recordings of your own:
# homothety.datasets.read_sequences("demos/") reads one file per demonstration.
toy = make_toy_2d(random_state=3, n_steps=200)

model = IBPHMM(n_chains=2, n_sweeps=150, random_state=0).fit(toy.sequences)
wrong = hamming(toy.states, model.paths_)
print(f"{model.n_states_} states in {len(model.segments_)} segments; {wrong:.1%} of steps wrong")

series = 2
for boundary in model.boundaries_:
    if boundary.series == series:
        print(f"change at step {boundary.step}: between {boundary.low} and {boundary.high}, in {boundary.share:.0%}")

above, below = plot_segmentation(
    toy.sequences[series],
    model.paths_[series],
    model.change_probability_[series],
    boundaries=[boundary for boundary in model.boundaries_ if boundary.series == series],
    channels=toy.channels,
    title="one of four series",
)
above.figure.savefig("segment_toy.png", dpi=100)
