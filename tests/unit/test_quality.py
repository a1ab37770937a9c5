"""Faults that are put into clean recordings are found, named and, where they are no measurements, taken out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from homothety.datasets import make_demonstrations, make_toy_2d
from homothety.quality import _MAX_LINES, examine
from homothety.sequences import check_sequences


def smooth_motion(seed, n_moves=6, noise=0.0):
    """Straight moves one after the other, each slow at its ends."""
    rng = np.random.default_rng(seed)
    corners, pieces = rng.normal(size=(n_moves + 1, 3)), []
    for here, there in pairwise(corners):
        t = np.linspace(0, 1, int(rng.integers(60, 300)))[:, None]
        pieces.append(here + (there - here) * (10 * t**3 - 15 * t**4 + 6 * t**5))
    motion = np.concatenate(pieces)
    return motion + noise * rng.normal(size=motion.shape)


def recordings(n=5, seed=0):
    return [smooth_motion(10 * seed + i, noise=0.01) for i in range(n)]


def examined(parts, **options):
    sequences = check_sequences(parts, channels=["x", "y", "z"][: parts[0].shape[1]], allow_missing=True)
    return examine(sequences, **options)


def only_finding(parts, kind, **options):
    """Return the finding, which is the only one."""
    (finding,) = examined(parts, **options).findings
    assert finding.kind == kind
    return finding


def heavy_tails(seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_t(5, size=(1000, 3)) for _ in range(4)]


def bursts(seed):
    """Forces: noise most of the time, and contacts of some steps that are a hundred times as strong."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(4):
        force = 0.02 * rng.normal(size=(1000, 3))
        for start in range(50, 1000, 200):
            force[start : start + 12] += 4 * np.sin(np.linspace(0, np.pi, 12))[:, None] * rng.normal(size=3)
        parts.append(force)
    return parts


CLEAN = {
    "toy": lambda seed: make_toy_2d(seed).sequences,
    "short toy": lambda seed: make_toy_2d(seed, n_steps=60).sequences,
    "demonstrations": lambda seed: make_demonstrations(seed).sequences,
    "smooth": lambda seed: [smooth_motion(10 * seed + i) for i in range(5)],
    "smooth and noise": lambda seed: recordings(seed=seed),
    "heavy tails": heavy_tails,
    "bursts": bursts,
}


@pytest.mark.parametrize("make", CLEAN.values(), ids=CLEAN)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_in_clean_recordings(make, seed):
    sequences = check_sequences(make(seed))
    quality = examine(sequences)
    assert quality.lines == ()
    assert quality.cleaned(sequences) is sequences


def test_missing_values_are_no_fault():
    rng, parts = np.random.default_rng(0), recordings()
    parts = [np.where(rng.random(one.shape) < 0.3, np.nan, one) for one in parts]
    parts[1][:, 2] = np.nan
    assert examined(parts).findings == ()


@pytest.mark.parametrize(
    "make", [CLEAN["toy"], CLEAN["demonstrations"], CLEAN["smooth"]], ids=["toy", "demo", "smooth"]
)
@pytest.mark.parametrize("seed", range(3))
def test_gross_outliers_are_taken_out_and_nothing_else(make, seed):
    rng, parts = np.random.default_rng(seed), [one.copy() for one in make(seed)]
    spread = np.concatenate(parts).std(axis=0)
    hit = [rng.random(len(one)) < 0.05 for one in parts]
    for one, where in zip(parts, hit, strict=True):
        one[where] += 100 * spread * rng.choice([-1.0, 1.0], size=(where.sum(), one.shape[1]))
    sequences = check_sequences(parts)
    found = examine(sequences).unmeasured
    np.testing.assert_array_equal(found, np.repeat(np.concatenate(hit)[:, None], found.shape[1], axis=1))
    assert np.isnan(examine(sequences).cleaned(sequences).steps).sum() == found.sum()


def test_a_smaller_outlier_counts_at_a_step_with_a_gross_one():
    parts = CLEAN["toy"](0)
    for both, expected in ((False, [[False, False]]), (True, [[True, True]])):
        one = parts[0].copy()
        spread = one.std(axis=0)
        one[100] += [500 * spread[0] * both, 14 * spread[1]]
        np.testing.assert_array_equal(examined([one, *parts[1:]]).unmeasured[100:101], expected)


def test_outliers_are_told_in_one_line():
    parts = recordings()
    parts[2][40, 1], parts[2][90, 0] = 1000.0, -50.0
    finding = only_finding(parts, "outliers")
    assert finding.recordings == (2,)
    assert finding.channels == (0, 1)
    assert finding.text.startswith("Recording 2: 2 outliers in channels x and y; the largest is 1000 at step 40, ")
    assert finding.text.endswith("A fit treats these values as missing, unless outliers='keep'.")
    kept = examined(parts, as_missing=False)
    assert not kept.unmeasured.any()
    assert kept.findings[0].text.endswith("A fit uses these values: correct them, or set them to NaN.")


def test_a_dead_sensor_is_taken_out_of_its_recording():
    parts = recordings()
    parts[3][:, 2] = 0.25
    finding = only_finding(parts, "dead sensor")
    assert "Recording 3: channel z is 0.25 at all" in finding.text
    missing = examined(parts).unmeasured
    assert missing.sum() == len(parts[3])
    assert missing[:, 2].sum() == len(parts[3])


def test_a_channel_that_stands_still_in_most_recordings_is_not_dead():
    parts = recordings()
    for one in parts[1:]:
        one[:, 2] = 0.25
    assert not examined(parts).unmeasured.any()


def test_straight_movements_along_an_axis_have_no_dead_sensors():
    along, block = np.array([[1.0, 0, 0], [0.6, 0.8, 0.1], [0.1, 0.5, 0.7], [0.2, 0.9, 0.4]]), [(0, 1, 2)]
    parts = [one[:, :1] * direction for one, direction in zip(recordings(4), along, strict=True)]
    assert examined(parts).unmeasured.any()
    assert examined(parts, blocks=block).findings == ()
    parts = recordings(4)
    parts[0][:, 1] = 0.25
    assert examined(parts, blocks=block).unmeasured[:, 1].any()


def test_a_switch_is_no_dead_sensor():
    rng = np.random.default_rng(0)
    parts = [
        np.column_stack([one, rng.integers(5, size=5).repeat(len(one) // 5 + 1)[: len(one)]]) for one in recordings()
    ]
    parts[2][:, 3] = 1.0
    (finding,) = examine(check_sequences(parts)).findings
    assert finding.kind == "few values"
    assert finding.text.startswith("Channel 3 has only 5 different values")


def test_a_sensor_that_stops_for_a_while():
    parts = recordings()
    parts[0][100:180, 1] = parts[0][100, 1]
    assert "channel y is" in (text := only_finding(parts, "stretch").text)
    assert "from step 100 to 179" in text


def test_a_pause():
    parts = recordings()
    parts[4] = np.insert(parts[4], 200, np.repeat(parts[4][200:201], 100, axis=0), axis=0)
    assert only_finding(parts, "pause").text.startswith("Recording 4 rests from step 200 to 300 (101 steps).")


def test_copies():
    parts = recordings()
    finding = only_finding([*parts, parts[1].copy(), parts[1].copy()], "copies")
    assert finding.recordings == (1, 5, 6)
    assert "Recordings 1, 5 and 6 are exact copies: the same evidence counts 3 times" in finding.text


def test_a_channel_that_follows_from_others():
    added = {"is a copy of channel X": [1.0, 0, 0], "follows linearly from channels X and Z": [2.0, 0, -1.0]}
    for text, factors in added.items():
        parts = [np.column_stack([one, one @ factors]) for one in recordings()]
        (finding,) = examine(check_sequences(parts, channels=["X", "Y", "Z", "SUM"])).findings
        assert finding.kind == "dependent channels"
        assert finding.text.startswith(f"Channel SUM {text}")


def test_positions_in_a_plane_are_no_fault_of_their_channels():
    flat = [one[:, :2] @ np.array([[1.0, 0, 1], [0, 1, 1]]) for one in recordings()]
    assert only_finding(flat, "dependent channels").channels == (2, 0, 1)
    assert examined(flat, blocks=[(0, 1, 2)]).findings == ()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda one: 1000 * one, "as large as the others. Check its units."),
        (lambda one: one + np.array([0, 400, 0]), "in channel y, "),
    ],
)
def test_a_recording_unlike_all_others(change, text):
    parts = recordings()
    parts[1] = change(parts[1])
    finding = only_finding(parts, "unlike")
    assert finding.recordings == (1,)
    assert text in finding.text


def test_a_drifting_baseline():
    parts = recordings()
    n = len(parts[2])
    parts[2][:, 0] = np.sin(np.arange(n) / 5) + np.linspace(0, 6, n) + 0.01 * np.random.default_rng(0).normal(size=n)
    assert "the baseline of channel x drifts by" in only_finding(parts, "drift").text


def test_many_findings_of_a_kind_are_cut_short():
    parts = recordings(12)
    for one in parts:
        one[100] = 1000.0
    lines = examined(parts).lines
    assert len(lines) == _MAX_LINES + 1
    assert lines[-1] == f"{12 - _MAX_LINES} more findings of this kind (outliers). `homothety check` lists all."


def test_recordings_too_short_to_judge_are_left_alone():
    parts = [np.array([[0.0, 1.0], [1.0, 0.0], [1000.0, 5.0]])] * 3
    assert examine(check_sequences(parts)).findings == ()
