"""Hidden Markov models: messages that know log-likelihoods alone, and Gaussian models fitted by EM."""

from homothety.models.hmm.messages import (
    Smoothed,
    filtered_probs,
    log_likelihood,
    most_likely_path,
    sample_path,
    smooth_series,
    smoothed_probs,
)

__all__ = [
    "Smoothed",
    "filtered_probs",
    "log_likelihood",
    "most_likely_path",
    "sample_path",
    "smooth_series",
    "smoothed_probs",
]
