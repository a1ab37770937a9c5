from __future__ import annotations

import numpy as np
import pytest

from homothety.reproduce import sensitivity
from homothety.reproduce.plan import Effort
from homothety.reproduce.sensitivity import GridPoint, effect_of_tolerance, grid_of, log_grid, plateau_end, try_settings


def test_grids_are_log_spaced_between_the_papers_limits():
    tolerances, concentrations = log_grid(sensitivity.TOLERANCES, 3), log_grid(sensitivity.CONCENTRATIONS, 3)
    np.testing.assert_allclose(tolerances, [1, np.sqrt(50), 50])
    np.testing.assert_allclose(concentrations, [0.1, np.sqrt(2), 20])


def test_tasks_cover_the_grid(small_set):
    tasks = sensitivity.plan([small_set], Effort(runs=2, grid=3)).tasks
    assert len(tasks) == 2 * 9
    assert {task.key for task in tasks} == {("toy-6d", row, column) for row in range(3) for column in range(3)}


def test_a_large_concentration_splits(small_set):
    few = try_settings(small_set, 1.0, 0.1, 10, 0)
    many = try_settings(small_set, 1.0, 1e6, 10, 0)
    assert few.n_clusters == 3
    assert many.n_clusters == len(small_set)
    assert many.f_measure < few.f_measure == 1.0


def test_means_over_runs_are_laid_out_on_the_grid(small_set):
    outcomes = {("toy-6d", 0, 1): [GridPoint(0.5, -3.0, 2), GridPoint(1.0, -1.0, 4)]}
    np.testing.assert_array_equal(grid_of(small_set, "f_measure", 2, outcomes), [[np.nan, 0.75], [np.nan, np.nan]])
    assert grid_of(small_set, "log_posterior", 2, outcomes)[0, 1] == -2.0


def test_the_plateau_ends_with_the_last_score_near_the_best():
    scores = np.array([[1.0, 1.0], [1.0, 0.99], [0.9, 0.9], [np.nan, np.nan]])
    assert plateau_end(np.array([0.1, 1.0, 10.0, 20.0]), scores) == 1.0


def test_the_effect_of_tolerance_is_the_largest_difference_in_a_row():
    assert effect_of_tolerance(np.array([[1.0, 0.9, np.nan], [0.5, 0.5, 0.5]])) == pytest.approx(0.1)


def test_the_page_reports_an_unfinished_grid(small_set):
    outcomes = {("toy-6d", 0, 0): [GridPoint(1.0, -3.0, 3)]}
    report = sensitivity.report([small_set], Effort(runs=1, grid=2), outcomes)
    lines = [line for line in report.markdown.splitlines() if line.startswith(("| 0.1", "| 20"))]
    assert "1.000" in lines[0]
    assert "-" in lines[1]
    assert report.figures["sensitivity"]().axes
