from __future__ import annotations

import numpy as np
import pytest

from paper import sensitivity
from paper.plan import Effort
from paper.sensitivity import GridPoint, effect_of_tolerance, grid_of, log_grid, plateau_end, try_settings


def test_grids_are_log_spaced_between_the_papers_limits():
    tolerances, concentrations = log_grid(sensitivity.TOLERANCES, 3), log_grid(sensitivity.CONCENTRATIONS, 3)
    np.testing.assert_allclose(tolerances, [1, np.sqrt(50), 50])
    np.testing.assert_allclose(concentrations, [0.1, np.sqrt(2), 20])


def test_tasks_cover_the_grid(small_set):
    tasks = sensitivity.tasks([small_set], Effort(runs=2, grid=3))
    assert len(tasks) == 2 * 9
    assert {task.key for task in tasks} == {("toy-6d", row, column) for row in range(3) for column in range(3)}


def test_a_large_concentration_splits(small_set):
    few = try_settings(small_set, 1.0, 0.1, 10, 0)
    many = try_settings(small_set, 1.0, 1e6, 10, 0)
    assert few.n_clusters == 3
    assert many.n_clusters == len(small_set)
    assert many.f_measure < few.f_measure == 1.0


def test_means_over_runs_are_laid_out_on_the_grid(small_set):
    outcomes = {("toy-6d", *place): [GridPoint(0.5, -1.0, 3)] for place in np.ndindex(2, 2)}
    outcomes["toy-6d", 0, 1] = [GridPoint(0.5, -3.0, 2), GridPoint(1.0, -1.0, 4)]
    np.testing.assert_array_equal(grid_of(small_set, "f_measure", 2, outcomes), [[0.5, 0.75], [0.5, 0.5]])
    assert grid_of(small_set, "log_posterior", 2, outcomes)[0, 1] == -2.0


def test_the_plateau_ends_with_the_last_score_near_the_best():
    scores = np.array([[1.0, 1.0], [1.0, 0.99], [0.9, 0.9], [0.8, 0.9]])
    assert plateau_end(np.array([0.1, 1.0, 10.0, 20.0]), scores) == 1.0


def test_the_effect_of_tolerance_is_the_largest_difference_in_a_row():
    assert effect_of_tolerance(np.array([[1.0, 0.9, 0.95], [0.5, 0.5, 0.5]])) == pytest.approx(0.1)


def test_the_page_has_a_summary_all_concentrations_and_a_figure(small_set):
    outcomes = {("toy-6d", *place): [GridPoint(1.0 - 0.25 * place[0], -3.0, 3)] for place in np.ndindex(2, 2)}
    report = sensitivity.report([small_set], Effort(runs=1, grid=2), outcomes)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.markdown.splitlines()]
    assert ["Toy 6D", "1.000", "0.750", "alpha = 0.1", "0.000", "-"] in lines
    assert [line for line in lines if line[:1] in (["0.1"], ["20"])] == [
        ["0.1", "1.000", "1.000", "3.0"],
        ["20", "0.750", "0.750", "3.0"],
    ]
    assert len(report.figures["sensitivity"]().axes) == 2
