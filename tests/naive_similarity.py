"""Slow, obvious twins of everything that measures similarity, written from the formulas and nothing else."""

from __future__ import annotations

import math
import warnings

import numpy as np
from scipy.linalg import logm, sqrtm


def axis_lengths(covariance, length="sqrt"):
    """Lengths of the axes of one matrix, ascending."""
    spectrum = sorted(float(value) for value in np.linalg.eigvalsh(np.asarray(covariance, dtype=float)))
    return [math.sqrt(value) if length == "sqrt" else value for value in spectrum]


def mean(values):
    return sum(values) / len(values)


def variance(values, ddof=0):
    centre = mean(values)
    return sum((value - centre) ** 2 for value in values) / (len(values) - ddof)


def dispersion_of(ratios, dispersion, ddof):
    spread = variance(ratios, ddof)
    if dispersion == "variance":
        return spread
    return math.sqrt(spread) if dispersion == "std" else math.sqrt(spread) / mean(ratios)


def spcm_of_lengths(lengths_a, lengths_b, dispersion="variance", ddof=0):
    """Eqs. 6-8 for one pair of axis lengths."""
    if dispersion == "log":
        return variance([math.log(a) - math.log(b) for a, b in zip(lengths_a, lengths_b, strict=True)], ddof)
    ratios_ab = [a / b for a, b in zip(lengths_a, lengths_b, strict=True)]
    ratios_ba = [b / a for a, b in zip(lengths_a, lengths_b, strict=True)]
    delta = mean(ratios_ab) - mean(ratios_ba)
    heaviside = 0.5 * (1 + np.sign(delta))
    return heaviside * dispersion_of(ratios_ab, dispersion, ddof) + (1 - heaviside) * dispersion_of(
        ratios_ba, dispersion, ddof
    )


def decayed(dissimilarity, n_dims, decay="bounded", rate=1.0, tolerance=1.0):
    """Eq. 9, or one of the exponential decays, whose rate holds at tolerance 1."""
    if decay == "bounded":
        return 1 / (1 + rate * 10 ** (tolerance * math.exp(-n_dims)) * dissimilarity)
    rate = rate * 10 ** ((tolerance - 1) * math.exp(-n_dims))
    return math.exp(-rate * (dissimilarity if decay == "exponential" else math.sqrt(dissimilarity)))


def spcm_distances(X, Y, variant):
    """All pairs, one at a time."""
    rows = [axis_lengths(a, variant.length) for a in X]
    columns = [axis_lengths(b, variant.length) for b in Y]
    return np.array([[spcm_of_lengths(a, b, variant.dispersion, variant.ddof) for b in columns] for a in rows])


def spcm_similarities(X, Y, variant, tolerance=1.0):
    n_dims = len(X[0])
    return np.array(
        [
            [decayed(value, n_dims, variant.decay, variant.rate, tolerance) for value in row]
            for row in spcm_distances(X, Y, variant)
        ]
    )


def matrix_logarithm(matrix):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "logm result may be inaccurate")  # it means by 1e-13
        return np.real(logm(matrix))


def airm(a, b):
    """Table 1, letter by letter."""
    root = np.linalg.inv(np.real(sqrtm(a)))
    return float(np.linalg.norm(matrix_logarithm(root @ b @ root)))


def lerm(a, b):
    return float(np.linalg.norm(matrix_logarithm(a) - matrix_logarithm(b)))


def kldm(a, b):
    identity = np.eye(len(a))
    return float(np.trace(np.linalg.inv(a) @ b + np.linalg.inv(b) @ a - 2 * identity)) / 2


def jbld(a, b):
    return float(np.log(np.linalg.det((a + b) / 2)) - np.log(np.linalg.det(a @ b)) / 2)


MEASURES = {"airm": airm, "lerm": lerm, "kldm": kldm, "jbld": jbld}


def distances(X, Y, measure):
    return np.array([[MEASURES[measure](a, b) for b in Y] for a in X])


def matrices(rng, n_matrices, n_dims, condition=100.0):
    """Random covariance matrices with condition numbers up to `condition`, of scales over some decades."""
    spectra = np.exp(rng.uniform(0, np.log(condition), size=(n_matrices, n_dims)))
    spectra *= np.exp(rng.normal(size=(n_matrices, 1)))
    rotations = np.stack([rotation(rng, n_dims) for _ in range(n_matrices)])
    return (rotations * spectra[:, None, :]) @ rotations.swapaxes(1, 2)


def rotation(rng, n_dims):
    """A random orthogonal matrix, reflections included."""
    orthogonal, triangular = np.linalg.qr(rng.normal(size=(n_dims, n_dims)))
    return orthogonal * np.sign(np.diag(triangular))
