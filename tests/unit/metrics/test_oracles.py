"""Every metric against values worked out beforehand, and against the cells of the paper's tables."""

from __future__ import annotations

from math import e

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import naive_metrics
from homothety import metrics

CASES = {
    "A": ([1] * 6 + [2] * 4, [1] * 4 + [2] * 3 + [3] * 3),
    "B": ([1] * 5 + [2] * 5, [1] * 3 + [2] * 2 + [3] * 3 + [4] * 2),
    "C": ([1] * 4 + [2] * 4 + [3] * 4, [1] * 7 + [2] * 5),
    "D": ([1, 1, 2, 2, 3, 3], [5, 5, 9, 9, 7, 7]),
    "E": ([1, 1, 1, 2, 2, 2], [1] * 6),
    "F": ([1, 1, 2, 2, 3, 3, 1, 2], [2, 2, 2, 1, 1, 3, 3, 1]),
}

# One row per metric, one column per case, to six decimals.
ORACLES = [
    ("purity", {}, [0.900000, 1.000000, 0.666667, 1, 0.500000, 0.625000]),
    ("inverse_purity", {}, [0.700000, 0.600000, 0.916667, 1, 1.000000, 0.625000]),
    ("nmi", {}, [0.563110, 0.712299, 0.569277, 1, 0, 0.398748]),
    ("nmi", {"average": "arithmetic"}, [0.547198, 0.673185, 0.553208, 1, 0, 0.398748]),
    ("f_measure", {}, [0.822857, 0.750000, 0.720539, 1, 0.666667, 0.625000]),
    ("f_measure", {"beta": 2}, [0.744361, 0.652174, 0.824707, 1, 0.833333, 0.625000]),
    ("hamming", {}, [0.300000, 0.400000, 0.333333, 0, 0.500000, 0.375000]),
    ("hamming", {"matching": "many-to-one"}, [0.100000, 0.000000, 0.333333, 0, 0.500000, 0.375000]),
    ("gce", {}, [0.133333, 0.000000, 0.125000, 0, 0.000000, 0.458333]),
    ("vi", {}, [1.150978, 0.970951, 1.145946, 0, 1.000000, 1.877444]),
    ("vi", {"base": e}, [0.797797, 0.673012, 0.794309, 0, 0.693147, 1.301345]),
    ("rand_index", {}, [0.711111, 0.733333, 0.712121, 1, 0.400000, 0.642857]),
    ("ari", {}, [0.403670, 0.425532, 0.407932, 1, 0.000000, 0.047619]),
]
CELLS = [
    pytest.param(name, options, case, value, id="-".join([name, *map(str, options.values()), case]))
    for name, options, row in ORACLES
    for case, value in zip(CASES, row, strict=True)
]


@pytest.mark.parametrize(("name", "options", "case", "value"), CELLS)
def test_metric_has_the_known_value(name, options, case, value):
    assert round(getattr(metrics, name)(*CASES[case], **options), 6) == value


@pytest.mark.parametrize(("name", "options", "case", "value"), CELLS)
def test_twin_has_the_known_value(name, options, case, value):
    assert round(getattr(naive_metrics, name)(*CASES[case], **options), 6) + 0.0 == value


@pytest.mark.parametrize(
    ("case", "truth_outside", "estimate_outside"),
    [("A", 0.416667, 0.133333), ("B", 0.48, 0), ("C", 0.125, 0.419048), ("E", 0, 0.5), ("F", 0.458333, 0.458333)],
)
def test_gce_is_the_smaller_of_two_refinement_errors(case, truth_outside, estimate_outside):
    truth, estimate = CASES[case]
    assert round(naive_metrics.refinement_error(truth, estimate), 6) == truth_outside
    assert round(naive_metrics.refinement_error(estimate, truth), 6) == estimate_outside
    assert metrics.gce(truth, estimate) == pytest.approx(min(truth_outside, estimate_outside), abs=1e-6)


def test_paper_toy_3d_singletons():
    # The affinity-propagation cells of the paper: 0.65 / 1.00 / 0.57.
    truth, estimate = [1, 1, 1, 2, 2], [1, 2, 3, 4, 5]
    assert round(metrics.nmi(truth, estimate), 4) == 0.6467
    assert round(metrics.nmi(truth, estimate, average="arithmetic"), 4) == 0.5897
    assert metrics.purity(truth, estimate) == 1
    assert round(metrics.f_measure(truth, estimate), 4) == 0.5667
    assert metrics.hamming(truth, estimate) == 0.6
    assert metrics.gce(truth, estimate) == 0


def test_paper_toy_2d_refinement():
    # The paper's segmentation table has purity 1, GCE 0, Hamming 0.379, VI 0.953 and NMI 0.714 for four states that
    # refine two classes: only one-to-one matching, bits and the geometric mean can give that row.
    shares = {("a", 1): 343, ("a", 2): 210, ("b", 3): 278, ("b", 4): 169}  # largest share 0.62 of each class
    truth = [label for (label, _), count in shares.items() for _ in range(count)]
    estimate = [label for (_, label), count in shares.items() for _ in range(count)]
    assert metrics.purity(truth, estimate) == 1
    assert metrics.gce(truth, estimate) == 0
    assert metrics.hamming(truth, estimate) == pytest.approx(0.379, abs=1e-3)
    assert metrics.vi(truth, estimate) == pytest.approx(0.957, abs=5e-3)
    assert metrics.nmi(truth, estimate) == pytest.approx(0.714, abs=2e-3)
    assert metrics.f_measure(truth, estimate) == pytest.approx(0.765, abs=2e-3)
    assert metrics.f_measure(truth, estimate, beta=2) == pytest.approx(0.672, abs=2e-3)  # so beta cannot have been 2


def test_hamming_matches_optimally_not_greedily():
    # Overlaps [[5, 4], [4, 0]]: taking the largest first matches 5 + 0, the best matching 4 + 4.
    truth = [1] * 9 + [2] * 4
    estimate = [1] * 5 + [2] * 4 + [1] * 4
    assert metrics.hamming(truth, estimate) == 5 / 13


@pytest.mark.parametrize("seed", range(5))
def test_agreement_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth, estimate = rng.integers(0, 7, 500), rng.integers(0, 4, 500)
    estimate[:250] = truth[:250] % 4
    assert metrics.ari(truth, estimate) == pytest.approx(adjusted_rand_score(truth, estimate), abs=1e-12)
    for average in ("geometric", "arithmetic"):
        expected = normalized_mutual_info_score(truth, estimate, average_method=average)
        assert metrics.nmi(truth, estimate, average=average) == pytest.approx(expected, abs=1e-12)


def test_ari_is_exact_where_products_of_pair_counts_overflow_64_bits():
    truth = np.repeat([0, 1], 200_000)
    estimate = np.repeat([0, 1, 1, 1], 100_000)
    assert metrics.ari(truth, estimate) == pytest.approx(adjusted_rand_score(truth, estimate), abs=1e-15)
