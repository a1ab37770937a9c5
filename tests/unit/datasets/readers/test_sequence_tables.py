"""Series come back from tables as they were written."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from homothety.datasets import read_sequences
from homothety.errors import InputError


@pytest.mark.parametrize("header", [None, ["x", "y", "z"], ["# x", "y", "z"]])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_one_text_file_per_series(write, series, header, delimiter, table, assert_series):
    paths = [write(table(one.tolist(), header, delimiter), f"demo_{i}.csv") for i, one in enumerate(series)]
    read = read_sequences(paths)
    assert_series(read, series)
    assert read.names == ("demo_0", "demo_1", "demo_2")
    assert read.channels == (("x", "y", "z") if header else ())
    assert (read.states, read.actions) == (None, None)


@pytest.mark.parametrize("header", [None, ["x", "y", "z"]])
@pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
def test_decimal_commas(write, series, header, delimiter, table, assert_series):
    text = table(series[0].tolist(), header, delimiter).replace(".", ",")
    assert_series(read_sequences(write(text)), series[:1])


def test_a_column_of_groups_parts_the_series(write, series, table, assert_series):
    rows = [
        [name, step, *row.tolist()] for name, one in zip("bac", series, strict=True) for step, row in enumerate(one)
    ]
    interleaved = sorted(rows, key=lambda row: row[1])  # steps of all series in turn: each keeps its own order
    for listed in (rows, interleaved):
        path = write(table(listed, ["demo", "time", "x", "y", "z"]))
        read = read_sequences(path, group="demo")
        assert_series(read, series)
        assert (read.names, read.channels) == (("b", "a", "c"), ("x", "y", "z"))
    assert_series(read_sequences(path, group=0, columns=["z", "x"]), [one[:, [2, 0]] for one in series])


def test_columns_by_name_or_number(write, series, table, assert_series):
    path = write(table(series[0].tolist(), ["x", "y", "z"]))
    for columns in (["z", "y"], [2, 1], ["z", 1]):
        read = read_sequences(path, columns=columns)
        assert_series(read, [series[0][:, [2, 1]]])
        assert read.channels == ("z", "y")
    assert_series(read_sequences(path, columns="y"), [series[0][:, [1]]])


def test_labels_and_states_are_known_by_name(write, assert_series):
    path = write("Time,x,Label,state\n0.0,1.5,cut,1\n0.1,2.5,cut,1\n0.2,3.5,peel,2\n")
    read = read_sequences(path)
    assert_series(read, [[[1.5], [2.5], [3.5]]])
    assert read.actions[0].tolist() == ["cut", "cut", "peel"]
    assert read.states[0].tolist() == [1, 1, 2]


def test_data_frames_as_they_write_themselves(write, assert_series):
    for text in (",x,y\n0,1.5,2\n1,2.5,4\n", ",0,1\n0,1.5,2\n1,2.5,4\n", "0,1\n1.5,2\n2.5,4\n"):
        assert_series(read_sequences(write(text)), [[[1.5, 2], [2.5, 4]]])
    assert_series(read_sequences(write("0,1\n1,2\n2,4\n")), [[[0, 1], [1, 2], [2, 4]]])


def test_nothing_before_numbers_is_no_header(write, assert_series):
    with pytest.raises(InputError, match="line 1, column 1 is '', needed a number"):
        read_sequences(write(",0.5,0.3\n1,2,3\n"))
    assert_series(read_sequences(write(",0\n0,5\n1,7\n")), [[[5], [7]]])


@pytest.mark.parametrize("header", ["x y z", "x,y,z", "made by hand on Monday\nx y z", ""])
@pytest.mark.parametrize("delimiter", [" ", ","])
def test_as_written_by_numpy(tmp_path, series, header, delimiter, assert_series):
    np.savetxt(tmp_path / "a.txt", series[0], header=header, delimiter=delimiter, fmt="%.4f")
    if header == "x,y,z" and delimiter == " ":
        header = ""  # one word, which names no column
    read = read_sequences(tmp_path / "a.txt")
    assert_series(read, series[:1])
    assert read.channels == (("x", "y", "z") if header else ())


def test_comments_before_a_header_and_blanks_after_rows(write, assert_series):
    read = read_sequences(write("# made by hand\n\nx y\n1 2 \n3 4\t\n5 oops\n", "a.txt"), columns="x")
    assert_series(read, [[[1], [3], [5]]])
    with pytest.raises(InputError, match="line 6, column 2 is 'oops'"):
        read_sequences(write("# made by hand\n\nx y\n1 2 \n3 4\t\n5 oops\n", "a.txt"))


@pytest.mark.parametrize(
    "names",
    [
        ["1_12", "11_2"],
        ["007", "7"],
        ["1e5", "100000"],
        ["123456789012345678", "123456789012345679"],
        ["12345678901234567890", "12345678901234567891"],
        ["0.1", "0.10000000000000000001"],
    ],
)
def test_different_names_stay_different(write, names, table, assert_series):
    path = write(table([[names[i // 2], i, names[i // 2]] for i in range(4)], ["demo", "x", "label"]))
    read = read_sequences(path, group="demo")
    assert_series(read, [[[0], [1]], [[2], [3]]])
    assert read.names == tuple(names)
    assert len(np.unique(np.concatenate(read.actions))) == 2


@pytest.mark.parametrize(
    ("cells", "labels", "kind"),
    [
        (["1.000e+00", "2.000e+00"], [1, 2], "i"),
        (["1.0", "1"], [1, 1], "i"),
        (["-3", "0"], [-3, 0], "i"),
        (["0.5", "nan"], [0.5, np.nan], "f"),
        (["07", "8"], ["07", "8"], "U"),
    ],
)
def test_labels_are_numbers_only_where_nothing_is_lost(write, cells, labels, kind, table):
    (actions,) = read_sequences(write(table(zip("12", cells, strict=True), ["x", "label"]))).actions
    assert actions.dtype.kind == kind
    np.testing.assert_array_equal(actions, labels)


def test_parquet_episodes(tmp_path, series, table, assert_series):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "observation.state": np.concatenate(series).tolist(),
        "force": np.arange(16.0),
        "episode_index": np.repeat([3, 1, 2], [5, 7, 4]),
        "timestamp": np.arange(16.0),
        "label": ["a", "b"] * 8,
        "task": ["grate"] * 16,
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "episodes.parquet")
    read = read_sequences(tmp_path / "episodes.parquet", group="episode_index", columns="observation.state")
    assert_series(read, series)
    assert read.names == ("3", "1", "2")
    assert read.channels == ("observation.state[0]", "observation.state[1]", "observation.state[2]")
    assert np.concatenate(read.actions).tolist() == ["a", "b"] * 8
    both = read_sequences(tmp_path / "episodes.parquet", columns=["force", "observation.state"])
    np.testing.assert_array_equal(both.sequences[0], np.column_stack([np.arange(16.0), np.concatenate(series)]))
    with pytest.raises(InputError, match="column 'task' is of type string"):
        read_sequences(tmp_path / "episodes.parquet")


def test_rows_of_no_episode_are_refused(tmp_path, table):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"episode": ["a", None, "a"], "x": [1.0, 2.0, 3.0]}), tmp_path / "log.parquet")
    with pytest.raises(InputError, match="row 1, counted from 0, has nothing in the column of group="):
        read_sequences(tmp_path / "log.parquet", group="episode")


def test_broken_parquet(write):
    pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="cannot be read"):
        read_sequences(write("no parquet at all", "demo.parquet"))


def test_parquet_without_pyarrow_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"homothety\[parquet\]"):
        read_sequences(write("PAR1", "demo.parquet"))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,y\n1,2\n3\n", {}, r"line 3 has 1 columns where 2 were expected\. Give every row as many cells"),
        ("x,y\n1,2\n3,oops\n", {}, "line 3, column 2 is 'oops', needed a number.*columns="),
        ("x,y\n1,2\n3,\n", {}, "line 3, column 2 is ''"),
        ("x,y\n1,2\n3,1_000\n", {}, "line 3, column 2 is '1_000', needed a number"),
        ("x,y\n", {}, "a header and no rows"),
        ("\n\n", {}, "is empty"),
        ("", {}, "is empty"),
        ("x,y\n1,2\n", {"columns": ["w"]}, "no column 'w'; it has columns x, y"),
        ("1,2\n3,4\n", {"columns": ["w"]}, "columns without names"),
        ("1,2\n3,4\n", {"columns": 2}, "no column 2; it has 2, counted from 0"),
        ("1,2\n3,4\n", {"columns": []}, "columns is empty"),
        ("x,y\n1,2\n", {"columns": ["x", "y", "x"]}, "columns names column 'x' twice"),
        ("x,y\n1,2\n", {"columns": ["y", 1]}, "columns names column 'y' twice"),
        ("1,2\n3,4\n", {"columns": [0, 0]}, "columns names column 0 twice"),
        ("x,y\n1,2\n", {"columns": ["x", "y"], "labels": "y"}, "column 'y' is named by labels= and by columns="),
        ("x,y\n1,2\n", {"columns": [0, 1], "labels": "y"}, "column 'y' is named by labels= and by columns="),
        ("1,2\n3,4\n", {"columns": [0, 1], "group": 1}, "column 1 is named by group= and by columns="),
        ("demo,x\na,1\na,2\n,3\n", {"group": "demo"}, r"line 4 has nothing in the column of group= \(1 such rows\)"),
        ("demo,x\n1,1\nnan,2\n", {"group": "demo"}, "line 3 has nothing in the column of group="),
        ("x,y\n1,2\n", {"group": "demo"}, "no column 'demo'"),
        ("x,y\n1,2\n", {"group": "x", "lengths": [1]}, "needed one of them"),
        ("1,2\n3,4\n", {"lengths": [3]}, "has 2 steps but lengths add up to 3"),
        ("1,2\n3,4\n", {"lengths": [2, 0]}, "needed a whole number of steps for each series"),
        ("1,2\n3,4\n", {"variable": "x"}, "variable means nothing"),
        ("time,label\n1,2\n", {}, "no column of measurements"),
    ],
)
def test_bad_tables(write, text, options, message):
    with pytest.raises(InputError, match=message):
        read_sequences(write(text), **options)
