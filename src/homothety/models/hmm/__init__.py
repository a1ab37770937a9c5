"""Hidden Markov models: messages that know log-likelihoods alone, and Gaussian models fitted by EM."""

from homothety.models.hmm.em import HMMFit, HMMSelection, fit_hmm, most_likely_paths, select_hmm
from homothety.models.hmm.messages import (
    Smoothed,
    log_likelihood,
    most_likely_path,
    sample_path,
    smooth_series,
    smoothed_probs,
)

__all__ = [
    "HMMFit",
    "HMMSelection",
    "Smoothed",
    "fit_hmm",
    "log_likelihood",
    "most_likely_path",
    "most_likely_paths",
    "sample_path",
    "select_hmm",
    "smooth_series",
    "smoothed_probs",
]
