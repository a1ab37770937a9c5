from __future__ import annotations

from itertools import product

from homothety.estimators import methods
from paper import convergence, printed, segmentation_convergence, table2, table3, table4
from paper.sequence_sets import SEQUENCE_RECIPES
from paper.sets import RECIPES

ALL = {
    **{("2", *key): text for key, text in printed.TABLE_2.items()},
    **{("3", *k): t for k, t in printed.TABLE_3.items()},
}


def test_no_cell_is_missing():
    methods = [f"{algorithm}-{measure}" for algorithm, measure in product(("ap", "sc"), printed.MEASURES)]
    assert set(printed.TABLE_2) == set(product(printed.DAMPING, methods, printed.METRICS))
    sets = ("toy-3d", "toy-6d", "task", "dti", "rat", "eth80")
    assert set(printed.TABLE_3) == set(product(sets, ("gmm", "crp", "spcm"), printed.METRICS))
    segmented, methods = ("toy-2d", "grating", "rolling", "peeling"), ("hmm", "hdp", "ibp", "two-stage", "icsc")
    with_actions = {key for key in printed.TABLE_4 if key[2] == "K_Z"}
    assert set(printed.TABLE_4) - with_actions == set(product(segmented, methods, printed.SEGMENTATION_METRICS[:-1]))
    assert with_actions == set(product(segmented, ("two-stage", "icsc"), ("K_Z",)))


def test_no_printed_segmentation_score_is_impossible():
    assert not any(printed.is_impossible(metric, text) for (_, _, metric), text in printed.TABLE_4.items())
    assert printed.is_impossible("Hamming", "1.200")
    assert not printed.is_impossible("VI", printed.TABLE_4["rolling", "hdp", "VI"])


def test_printed_segmentations_obey_what_binds_the_scores():
    for (name, method, metric), text in printed.TABLE_4.items():
        if metric == "Hamming":  # matching one to one is never better than many to one; cells are rounded means
            assert printed.cell_value(text) >= 1 - printed.cell_value(printed.TABLE_4[name, method, "purity"]) - 1e-3, (
                name
            )


def test_one_printed_score_is_impossible():
    impossible = [key for key, text in ALL.items() if printed.is_impossible(key[3], text)]
    assert impossible == [("3", "eth80", "crp", "NMI")]


def test_cells_are_numbers_with_a_spread_at_most():
    for text in ALL.values():
        mean, *spread = text.replace("(", "").replace(")", "").split()
        assert float(mean) == printed.cell_value(text) >= 0
        assert all(0 < float(value) < 1 for value in spread)


def test_spectral_clustering_was_told_the_number_of_clusters():
    classes = {"toy-3d": 2, "toy-6d": 3, "task": 3, "dti": 5, "rat": 4}
    for (name, method, metric), text in printed.TABLE_2.items():
        if method.startswith("sc") and metric == "K":
            assert int(text) == classes[name]


def test_every_method_has_a_printed_column():
    assert {method.printed_as for method in table2.METHODS} == {method for _, method, _ in printed.TABLE_2}
    segmented = {method for _, method, _ in printed.TABLE_4}
    assert {method.printed_as for method in table4.METHODS} == segmented | {"one-state"}
    assert [method.key for method in table4.METHODS] == [key for key in methods.METHODS if key != "actions"]
    assert {method.printed_as for method in table3.METHODS} == {method for _, method, _ in printed.TABLE_3}


def test_every_set_of_a_table_has_a_recipe():
    assert set(table2.SETS) | set(table3.SETS) | set(convergence.SETS) <= set(RECIPES)
    assert set(convergence.SETS) == set(printed.SECONDS)
    assert set(table4.SETS) | set(segmentation_convergence.SETS) <= set(SEQUENCE_RECIPES)
    assert set(printed.SEGMENTATION_SECONDS) <= set(segmentation_convergence.SETS)
