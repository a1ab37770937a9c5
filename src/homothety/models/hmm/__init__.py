"""Hidden Markov models: messages that know log-likelihoods alone, and Gaussian models fitted by EM."""

from homothety.models.hmm.em import HMMSelection, select_hmm
from homothety.models.hmm.messages import (
    log_likelihood,
    most_likely_path,
    sample_path,
    smooth_series,
    smoothed_probs,
)

__all__ = [
    "HMMSelection",
    "log_likelihood",
    "most_likely_path",
    "sample_path",
    "select_hmm",
    "smooth_series",
    "smoothed_probs",
]
