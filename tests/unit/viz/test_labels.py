from __future__ import annotations

import numpy as np
import pytest

from homothety.errors import InputError
from homothety.palette import cluster_style
from homothety.viz._figures import (
    BLANK,
    actions_of_states,
    group_items,
    group_numbers,
    number_labels,
    shaded_looks,
    sorted_items,
)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 0, 3], [3, 0, 3]),
        (np.array([True, False]), [1, 0]),
        (np.array([2.0, np.nan, 0.0]), [2, -1, 0]),
        (np.ma.masked_array(np.array([1, 2, 3], dtype=np.uint8), mask=[0, 1, 0]), [1, -1, 3]),
        (["b", "a", "b"], [1, 0, 1]),
        (np.array(["b", None, "a"], dtype=object), [1, -1, 0]),
    ],
)
def test_labels_become_numbers(labels, expected):
    np.testing.assert_array_equal(number_labels(labels)[0], expected)


def test_numbers_stand_for_themselves_and_strings_for_their_rank():
    assert number_labels([7, 2])[1] == {2: "2", 7: "7"}
    assert number_labels(["putamen", "cortex"])[1] == {0: "cortex", 1: "putamen"}


def test_names_that_are_numbers_come_in_their_order():
    numbers, names = number_labels(["10", "2", "1", "2"])
    assert numbers.tolist() == [2, 1, 0, 1]
    assert names == {0: "1", 1: "2", 2: "10"}


@pytest.mark.parametrize("wrong", [0.5, -2, np.inf])
def test_what_is_no_label_is_named(wrong):
    with pytest.raises(InputError, match=r"labels\[2\] is .*, needed whole numbers from 0 up, or -1"):
        number_labels([0, 1, wrong])


def test_clusters_come_in_order_and_items_in_none_last():
    clusters = group_items([2, -1, 0, 2], 4)
    assert [cluster.name for cluster in clusters] == ["0", "2", "none"]
    assert [cluster.members.tolist() for cluster in clusters] == [[2], [0, 3], [1]]
    assert [cluster.style for cluster in clusters] == [cluster_style(0), cluster_style(2), cluster_style(-1)]
    assert sorted_items(clusters).tolist() == [2, 0, 3, 1]


def test_blank_places_are_in_no_group():
    clusters = group_numbers(np.array([[BLANK, 0], [1, -1]]), {0: "0", 1: "1"})
    assert [cluster.members.tolist() for cluster in clusters] == [[1], [2], [3]]


def test_without_labels_all_items_are_one_nameless_cluster():
    (cluster,) = group_items(None, 3)
    assert cluster.name == ""
    assert cluster.members.tolist() == [0, 1, 2]


@pytest.mark.parametrize("labels", [[0, 1], [[0], [1], [0]]])
def test_labels_must_be_one_per_item(labels):
    with pytest.raises(InputError, match=r"labels has shape .*, needed \(3,\): one label for each item"):
        group_items(labels, 3)


def test_a_state_belongs_to_the_action_of_most_of_its_steps():
    states, actions = np.array([0, 0, 0, 1, 1, -1, 2]), np.array([3, 1, 3, 1, 1, 0, -1])
    assert actions_of_states(None, states, actions) == {0: 3, 1: 1, 2: -1}
    assert actions_of_states([4, 5, 6, 7], states, actions) == {0: 4, 1: 5, 2: 6, 3: 7}


def test_looks_come_action_by_action_and_none_last():
    looks = shaded_looks({1: "reach"}, {0: -1, 1: 2, 2: 0, 3: 2})
    assert list(looks) == [2, 1, 3, 0, -1]
    assert [look.name for look in looks.values()] == ["2", "reach", "3", "0", "none"]
