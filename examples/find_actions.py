"""Find the actions that demonstrations in different frames have in common, and how the frames differ."""

from homothety import ICSCHMM
from homothety.datasets import make_demonstrations
from homothety.metrics import hamming
from homothety.viz import plot_trajectories

# A hand reaches out, strokes and returns: here in one place, direction and size, there in another. For recordings of
# your own: homothety.datasets.read_sequences("demos/") reads one file per demonstration.
demonstrations = make_demonstrations(random_state=0, n_per_frame=3)

model = ICSCHMM(n_chains=4, n_sweeps=100, random_state=0).fit(demonstrations.sequences)
right = 1 - hamming(demonstrations.actions, model.actions_)
print(f"{model.n_states_} states are {model.n_actions_} actions; {right:.0%} of the steps have the right one")

for state in model.transforms_:
    if state.action == 0 and state.state != state.reference:
        print(
            f"state {state.state} is state {state.reference}, {state.scale:.1f} times as large "
            f"({state.scale_low:.1f} to {state.scale_high:.1f})"
        )

truth, states, actions = plot_trajectories(
    demonstrations.sequences, model.paths_, model.actions_, truth=demonstrations.actions, channels=("x", "y", "z")
)
actions.figure.savefig("find_actions.png", dpi=80)
