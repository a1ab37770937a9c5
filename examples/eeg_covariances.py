"""
EEG covariances: what shape sees, and what it does not
======================================================

Trials of EEG become covariance matrices, and matrices are clustered by shape. Two questions are asked of simulated
trials with a known answer: Are the eyes open or closed? Which hand is imagined to move? Shape answers the first and
cannot answer the second.

MNE computes what each source in the brain adds to each electrode, by a spherical model of the head. For epochs of your
own, pass ``mne.Epochs`` to ``homothety.datasets.epochs_covariances``, or use ``read_matrices("trials-epo.fif")``.
"""

import matplotlib.pyplot as plt
import mne
import numpy as np

from homothety import SPCMMixture
from homothety.datasets import epochs_covariances
from homothety.metrics import nmi
from homothety.viz import plot_spectra

# %%
# A head with three rhythms
# -------------------------
# One source at the back of the head (the alpha rhythm of closed eyes), one in the motor cortex of each hemisphere, and
# 37 weaker sources everywhere. Positions are in metres.

mne.set_log_level("ERROR")
rng = np.random.default_rng(0)
CENTRE = np.array([0, 0, 0.04])
directions = rng.standard_normal((40, 3))
directions /= np.linalg.norm(directions, axis=1, keepdims=True)
positions = CENTRE + 0.07 * directions * rng.uniform(0.6, 1, size=(40, 1))
positions[:3] = [[0, -0.055, 0.07], [-0.04, 0, 0.09], [0.04, 0, 0.09]]  # back, left, right
directions[:3] = [[0, -0.8, 0.6], [-0.6, 0, 0.8], [0.6, 0, 0.8]]

montage = mne.channels.make_standard_montage("biosemi16")
info = mne.create_info(montage.ch_names, sfreq=160.0, ch_types="eeg").set_montage(montage)
head = mne.make_sphere_model(r0=CENTRE, head_radius=0.095, info=info)
sources = mne.setup_volume_source_space(pos={"rr": positions, "nn": directions}, sphere=(*CENTRE, 0.09))
forward = mne.make_forward_solution(info, trans=None, src=sources, bem=head, meg=False)
gains = mne.convert_forward_solution(forward, force_fixed=True, use_cps=False)["sol"]["data"]
print(gains.shape, "electrodes and sources")

# %%
# Trials
# ------
# Each condition has 30 trials of 4 s. Amplifiers drift: every trial has a gain of its own. A hand that is imagined to
# move weakens the rhythm of the opposite hemisphere.

STRENGTHS = {
    "eyes open": (2, 1.5, 1.5),
    "eyes closed": (8, 1.5, 1.5),
    "left hand": (2, 5, 1.5),
    "right hand": (2, 1.5, 5),
}
N_TRIALS, N_TIMES = 30, 640


def simulate(*conditions):
    """Return the covariances of the trials of some conditions, labelled by condition."""
    trials = []
    for condition in conditions:
        strengths = np.concatenate([STRENGTHS[condition], np.ones(37)])
        potentials = gains @ (strengths[:, None] * rng.standard_normal((N_TRIALS, 40, N_TIMES))) * 1e-8
        noise = 0.3 * potentials.std() * rng.standard_normal(potentials.shape)
        trials.append(np.exp(0.3 * rng.standard_normal((N_TRIALS, 1, 1))) * (potentials + noise))
    numbers = np.repeat(np.arange(len(conditions)), N_TRIALS)
    events = np.column_stack([N_TIMES * np.arange(len(numbers)), np.zeros_like(numbers), numbers])
    event_id = {condition: number for number, condition in enumerate(conditions)}
    return epochs_covariances(mne.EpochsArray(np.concatenate(trials), info, events, event_id=event_id))


# %%
# Are the eyes open or closed?
# ----------------------------
# Closed eyes make one source much stronger than all others. The matrices become longer along one axis, which is a
# change of shape.

eyes = simulate("eyes open", "eyes closed")
by_shape = SPCMMixture(n_sweeps=200, random_state=0).fit(eyes.matrices)
print(f"eyes, by shape: {by_shape.n_clusters_} clusters, NMI {nmi(eyes.labels, by_shape.labels_):.2f}")

# %%
# Which hand?
# -----------
# The two hands make the same rhythm in different places. The matrices differ in the direction of their axes, but not in
# their shape, so that a clustering by shape finds a single cluster. A distance between whole matrices, here the
# log-Euclidean one, sees the difference.

hands = simulate("left hand", "right hand")
for measure, settings in {"shape": {}, "log-Euclidean distance": {"measure": "lerm"}}.items():
    model = SPCMMixture(**settings, n_sweeps=400, random_state=0).fit(hands.matrices)
    print(f"hands, by {measure}: clusters with trials of")
    for cluster in range(model.n_clusters_):
        print("  ", *np.unique(hands.labels[model.labels_ == cluster], return_counts=True))

# %%
# By the log-Euclidean distance no cluster mixes the hands. But the drift of the amplifiers, which that distance sees
# too, divides each hand into several clusters, and a ``ConvergenceWarning`` says that their number is uncertain.
#
# The spectra show why. Each line is one trial: the lengths of the 16 axes of its matrix. With closed eyes, the longest
# axis is longer relative to the others. Left and right hand have the same spectra.
#
# **Finding:** use shape where the *number and strength* of active sources matters and their place does not; it then
# ignores the drift of amplifiers. Use a measure of the whole matrix where the place matters.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, matrices in zip(axes, (eyes, hands), strict=True):
    plot_spectra(matrices.matrices, np.unique(matrices.labels, return_inverse=True)[1], ax=ax)
    ax.set_title(" (0), ".join(np.unique(matrices.labels)) + " (1)")
plt.show()
