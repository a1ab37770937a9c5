"""Series come back from every kind of file as they were written."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from scipy.io import savemat

from homothety.datasets import read_matrices, read_sequences
from homothety.errors import InputError
from homothety.sequences import check_sequences


@pytest.fixture
def series(rng):
    return [rng.normal(size=(n_steps, 3)).round(4) for n_steps in (5, 7, 4)]


@pytest.fixture
def write(tmp_path):
    """Write a text to a file of the given name and return its path."""

    def write_text(text, name="demo.csv", encoding="utf-8"):
        (tmp_path / name).write_text(text, encoding=encoding)
        return tmp_path / name

    return write_text


def table(rows, header=None, delimiter=","):
    lines = [header] if header else []
    return "\n".join(delimiter.join(str(cell) for cell in line) for line in [*lines, *rows]) + "\n"


def assert_series(read, expected):
    assert len(read) == len(expected)
    for found, one in zip(read.sequences, expected, strict=True):
        np.testing.assert_array_equal(found, one)
        assert found.dtype == np.float64
    check_sequences(read.sequences)


@pytest.mark.parametrize("header", [None, ["x", "y", "z"], ["# x", "y", "z"]])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_one_text_file_per_series(write, series, header, delimiter):
    paths = [write(table(one.tolist(), header, delimiter), f"demo_{i}.csv") for i, one in enumerate(series)]
    read = read_sequences(paths)
    assert_series(read, series)
    assert read.names == ("demo_0", "demo_1", "demo_2")
    assert read.channels == (("x", "y", "z") if header else ())
    assert (read.states, read.actions) == (None, None)


@pytest.mark.parametrize("header", [None, ["x", "y", "z"]])
@pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
def test_decimal_commas(write, series, header, delimiter):
    text = table(series[0].tolist(), header, delimiter).replace(".", ",")
    assert_series(read_sequences(write(text)), series[:1])


def test_a_column_of_groups_parts_the_series(write, series):
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


def test_lengths_part_the_series(write, series, tmp_path):
    steps = np.concatenate(series)
    assert_series(read_sequences(write(table(steps.tolist())), lengths=[5, 7, 4]), series)
    np.save(tmp_path / "all.npy", steps)
    assert_series(read_sequences(tmp_path / "all.npy", lengths=[5, 7, 4]), series)


def test_columns_by_name_or_number(write, series):
    path = write(table(series[0].tolist(), ["x", "y", "z"]))
    for columns in (["z", "y"], [2, 1], ["z", 1]):
        read = read_sequences(path, columns=columns)
        assert_series(read, [series[0][:, [2, 1]]])
        assert read.channels == ("z", "y")
    assert_series(read_sequences(path, columns="y"), [series[0][:, [1]]])


def test_labels_and_states_are_known_by_name(write):
    path = write("Time,x,Label,state\n0.0,1.5,cut,1\n0.1,2.5,cut,1\n0.2,3.5,peel,2\n")
    read = read_sequences(path)
    assert_series(read, [[[1.5], [2.5], [3.5]]])
    assert read.actions[0].tolist() == ["cut", "cut", "peel"]
    assert read.states[0].tolist() == [1, 1, 2]


def test_data_frames_as_they_write_themselves(write):
    for text in (",x,y\n0,1.5,2\n1,2.5,4\n", ",0,1\n0,1.5,2\n1,2.5,4\n", "0,1\n1.5,2\n2.5,4\n"):
        assert_series(read_sequences(write(text)), [[[1.5, 2], [2.5, 4]]])
    assert_series(read_sequences(write("0,1\n1,2\n2,4\n")), [[[0, 1], [1, 2], [2, 4]]])


def test_nothing_before_numbers_is_no_header(write):
    with pytest.raises(InputError, match="line 1, column 1 is '', needed a number"):
        read_sequences(write(",0.5,0.3\n1,2,3\n"))
    assert_series(read_sequences(write(",0\n0,5\n1,7\n")), [[[5], [7]]])


@pytest.mark.parametrize("header", ["x y z", "x,y,z", "made by hand on Monday\nx y z", ""])
@pytest.mark.parametrize("delimiter", [" ", ","])
def test_as_written_by_numpy(tmp_path, series, header, delimiter):
    np.savetxt(tmp_path / "a.txt", series[0], header=header, delimiter=delimiter, fmt="%.4f")
    if header == "x,y,z" and delimiter == " ":
        header = ""  # one word, which names no column
    read = read_sequences(tmp_path / "a.txt")
    assert_series(read, series[:1])
    assert read.channels == (("x", "y", "z") if header else ())


def test_comments_before_a_header_and_blanks_after_rows(write):
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
def test_different_names_stay_different(write, names):
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
def test_labels_are_numbers_only_where_nothing_is_lost(write, cells, labels, kind):
    (actions,) = read_sequences(write(table(zip("12", cells, strict=True), ["x", "label"]))).actions
    assert actions.dtype.kind == kind
    np.testing.assert_array_equal(actions, labels)


def test_folders_are_read_in_natural_order(write, series, tmp_path):
    for number, one in zip((1, 2, 10), series, strict=True):
        write(table(one.tolist()), f"demo_{number}.csv")
    write("notes", "README.md")
    read = read_sequences(tmp_path)
    assert_series(read, series)
    assert read.names == ("demo_1", "demo_2", "demo_10")
    write("x", "other.txt")
    with pytest.raises(InputError, match=r"several kinds \(\.csv, \.txt\)"):
        read_sequences(tmp_path)


def test_series_of_one_name_in_two_folders(tmp_path, series):
    for folder, one in zip("ab", series[:2], strict=True):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "demo.npy", one)
    read = read_sequences([tmp_path / "a", str(tmp_path / "b")])
    assert_series(read, series[:2])
    assert read.names == ("a/demo.npy: demo", "b/demo.npy: demo")


def test_archive_with_lengths(tmp_path, series):
    labels, states = np.arange(16) // 4 + 1.0, np.arange(16)
    np.savez(
        tmp_path / "set.npz",
        x=np.concatenate(series),
        lengths=[5, 7, 4],
        labels=labels,
        states=states,
        channels=["x", "y", "z"],
        other=np.ones((16, 2)),
    )
    read = read_sequences(tmp_path / "set.npz", columns=["x", "z"])
    assert_series(read, [one[:, [0, 2]] for one in series])
    np.testing.assert_array_equal(np.concatenate(read.actions), labels)
    np.testing.assert_array_equal(np.concatenate(read.states), states)
    assert read.actions[0].dtype.kind == "i"
    assert read.channels == ("x", "z")
    other = read_sequences(tmp_path / "set.npz", variable="other")
    assert (other.n_dims, other.channels) == (2, ())


def test_archive_of_one_array_per_series(tmp_path, series):
    np.savez(tmp_path / "set.npz", left=series[0], right=series[1], rate=np.array(100))
    read = read_sequences(tmp_path / "set.npz")
    assert_series(read, series[:2])
    assert read.names == ("left", "right")
    assert_series(read_sequences(tmp_path / "set.npz", variable="right"), series[1:2])


@pytest.mark.parametrize("is_time_last", [False, True])
def test_cell_arrays(tmp_path, series, is_time_last):
    cells, labels = np.empty((1, 3), dtype=object), np.empty((1, 3), dtype=object)
    for i, one in enumerate(series):
        cells[0, i] = one.T if is_time_last else one
        labels[0, i] = np.arange(len(one), dtype=float)[None]
    savemat(tmp_path / "set.mat", {"Data": cells, "True_states": labels})
    read = read_sequences(tmp_path / "set.mat")
    assert_series(read, series)
    assert [path.tolist() for path in read.actions] == [list(range(len(one))) for one in series]
    assert_series(read_sequences(tmp_path / "set.mat", variable="Data", columns=[1]), [one[:, [1]] for one in series])


def test_single_matlab_matrix(tmp_path, series):
    savemat(tmp_path / "set.mat", {"X": np.concatenate(series).T, "rate": 100.0, "labels": np.arange(16)})
    read = read_sequences(tmp_path / "set.mat", lengths=[5, 7, 4])
    assert_series(read, series)
    np.testing.assert_array_equal(np.concatenate(read.actions), np.arange(16))


def test_text_labels_beside_a_matlab_matrix(tmp_path, series):
    labels = np.empty((5, 1), dtype=object)
    labels[:, 0] = ["cut", "cut", "", "peel", "peel"]
    savemat(tmp_path / "set.mat", {"X": series[0], "labels": labels})
    assert read_sequences(tmp_path / "set.mat").actions[0].tolist() == ["cut", "cut", "", "peel", "peel"]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
def test_names_of_files_that_are_no_text(tmp_path):
    for name in (b"demo\xfe.csv", b"demo\xff.csv"):
        (tmp_path / os.fsdecode(name)).write_text("2,1,3\n3,1,4\n")
    assert read_sequences(tmp_path).names == ("demo? (0)", "demo? (1)")
    assert read_matrices(tmp_path / os.fsdecode(b"demo\xff.csv")).name == "demo?"


def test_the_authors_files(shared_data):
    from conftest import shared_data_folder

    converted = shared_data("grating_7d.npz")
    path = shared_data_folder() / "original" / "ICSC-HMM" / "test-data"
    if not path.exists():
        pytest.skip("the authors' own files are not here")
    grater = read_sequences(path / "Grating" / "CarrotGrating_grater.mat")
    assert [len(one) for one in grater.sequences] == converted["lengths"].tolist()
    np.testing.assert_allclose(grater.sequences[0], converted["x"][:2955])
    np.testing.assert_array_equal(np.concatenate(grater.actions), converted["labels"])
    peeling = read_sequences(path / "Peeling" / "proc-data-noObj.mat")
    assert [one.shape for one in peeling.sequences] == [(13820, 26), (7333, 26)]
    assert [len(one) for one in peeling.actions] == [13820, 7333]


def test_parquet_episodes(tmp_path, series):
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


def test_rows_of_no_episode_are_refused(tmp_path):
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


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="Python objects are never loaded"):
        read_sequences(tmp_path / "objects.npy")


def test_nobody_is_told_how_to_unpickle(write):
    with pytest.raises(InputError, match=r"contains pickled .* data\. .* write plain arrays") as refused:
        read_sequences(write("no array at all", "demo.npy"))
    assert "unsafely" not in str(refused.value)


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


def test_bad_archives(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((4, 2)), y=np.ones((4, 3)))
    with pytest.raises(InputError, match="different numbers of dimensions"):
        read_sequences(tmp_path / "a.npz")
    with pytest.raises(InputError, match=r"no array 'z'\. It holds x"):
        read_sequences(tmp_path / "a.npz", variable="z")
    with pytest.raises(InputError, match="group means nothing"):
        read_sequences(tmp_path / "a.npz", group="x")
    np.savez(tmp_path / "b.npz", x=np.ones(4))
    with pytest.raises(InputError, match="needed an array of shape"):
        read_sequences(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", a=np.ones((4, 2)), b=np.ones((4, 2)), lengths=[4])
    with pytest.raises(InputError, match="exactly one array of 4 steps"):
        read_sequences(tmp_path / "c.npz")
    np.savez(tmp_path / "c.npz", x=np.ones((4, 2)), lengths=[2, 3])
    with pytest.raises(InputError, match=r"lengths add up to 5, .* x \(4, 2\), lengths \(2,\)\. Correct lengths"):
        read_sequences(tmp_path / "c.npz")
    for lengths in (["2", "2"], [np.inf]):
        np.savez(tmp_path / "c.npz", x=np.ones((4, 2)), lengths=lengths)
        with pytest.raises(InputError, match="needed a whole number of steps for each series"):
            read_sequences(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", x=np.ones((4, 2)), lengths=[4], labels=np.ones(3))
    with pytest.raises(InputError, match="3 labels for 4 steps"):
        read_sequences(tmp_path / "d.npz")
    np.save(tmp_path / "e.npy", np.ones((2, 4, 2)))
    with pytest.raises(InputError, match=r"has shape \(2, 4, 2\)"):
        read_sequences(tmp_path / "e.npy")


def test_bad_mat_files(tmp_path):
    savemat(tmp_path / "a.mat", {"a": np.ones((4, 2)), "b": np.ones((4, 2))})
    with pytest.raises(InputError, match="Say which it is with variable="):
        read_sequences(tmp_path / "a.mat")
    cells = np.empty(2, dtype=object)
    cells[:] = [np.ones((4, 2)), np.ones((5, 3))]
    savemat(tmp_path / "b.mat", {"a": cells})
    with pytest.raises(InputError, match="differ along both axes"):
        read_sequences(tmp_path / "b.mat")


def test_files_that_do_not_go_together(write, tmp_path):
    first, second = write("x,y\n1,2\n3,4\n", "a.csv"), write("x,z\n1,2\n3,4\n", "b.csv")
    with pytest.raises(InputError, match=r"b\.csv has columns x, z but .*a\.csv has x, y"):
        read_sequences([first, second])
    with pytest.raises(InputError, match="has 1 dimensions but"):
        read_sequences([first, write("x\n1\n2\n", "c.csv")])
    with pytest.raises(InputError, match=r"there are 2\. Leave lengths out"):
        read_sequences([first, first], lengths=[2])
    with pytest.raises(InputError, match="is not there"):
        read_sequences(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="paths names no file"):
        read_sequences([])
    with pytest.raises(InputError, match=r"ends in '\.xyz'"):
        read_sequences(write("1", "a.xyz"))
    (tmp_path / "void").mkdir()
    with pytest.raises(InputError, match="holds no file ending in"):
        read_sequences(tmp_path / "void")


def test_true_labels_may_have_any_name(write, tmp_path, series):
    rows = [[*row, f"phase {step % 2}"] for step, row in enumerate(series[0].tolist())]
    read = read_sequences(write(table(rows, ["x", "y", "z", "phase"])), labels="phase")
    assert_series(read, series[:1])
    assert read.actions[0].tolist() == [row[-1] for row in rows]
    np.savez(tmp_path / "demo.npz", X=series[1], lengths=[4, 3], phase=np.arange(7), labels=np.zeros(7))
    read = read_sequences(tmp_path / "demo.npz", labels="phase")
    assert [path.tolist() for path in read.actions] == [[0, 1, 2, 3], [4, 5, 6]]


def test_true_labels_that_are_not_there_are_named(write, tmp_path, series):
    np.savez(tmp_path / "demo.npz", X=series[0], lengths=[5])
    np.save(tmp_path / "demo.npy", series[0])
    with pytest.raises(InputError, match="has no array 'phase'"):
        read_sequences(tmp_path / "demo.npz", labels="phase")
    with pytest.raises(InputError, match="array 'X' holds the series, needed another one for labels="):
        read_sequences(tmp_path / "demo.npz", labels="X")
    with pytest.raises(InputError, match="has no column 'phase'"):
        read_sequences(write(table(series[0], ["x", "y", "z"])), labels="phase")
    with pytest.raises(InputError, match="labels means nothing for"):
        read_sequences(tmp_path / "demo.npy", labels="phase")
