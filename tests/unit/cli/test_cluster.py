from __future__ import annotations

import csv
import json
import re
import sys
from contextlib import suppress

import numpy as np
import pytest

import homothety
from homothety import SPCMMixture
from homothety.cli.app import build_parser
from homothety.cli.cluster import MODEL_OPTIONS
from homothety.cli.figures import figures_of
from homothety.datasets import make_dti, make_wishart_families
from homothety.palette import cluster_style
from homothety.report.document import chains_answer
from homothety.summaries.partitions import membership
from homothety.viz._figures import group_items

QUICK = ("--chains", "2", "--sweeps", "10")


def read_labels(folder):
    with (folder / "labels.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def column(rows, name, kind=int):
    return [kind(row[name]) for row in rows]


def test_everything_is_written_and_agrees(run, toy, toy_file, tmp_path):
    folder = tmp_path / "results"
    answer = run("cluster", toy_file, "-o", folder, *QUICK)
    assert answer.status == 0
    model, rows = homothety.load(folder / "model.homothety"), read_labels(folder)
    summary = json.loads((folder / "summary.json").read_text())
    assert column(rows, "index") == list(range(12))
    assert column(rows, "label") == (model.labels_ + 1).tolist()
    assert column(rows, "truth") == toy.labels.tolist()
    np.testing.assert_allclose(
        column(rows, "agreement", float), membership(model.coclustering_, model.labels_), atol=1e-4
    )
    assert summary["clusters"] == model.n_clusters_
    assert summary["sizes"] == np.bincount(model.labels_).tolist()
    assert summary["metrics"]["NMI"] == homothety.metrics.nmi(toy.labels, model.labels_)
    assert summary["settings"]["n_chains"] == 2
    assert f"12 matrices of 6 x 6 in {model.n_clusters_} clusters" in answer.out


def test_clusters_have_one_number_everywhere(run, toy_file, tmp_path):
    answer = run("cluster", toy_file, "-o", tmp_path, *QUICK)
    model = homothety.load(tmp_path / "model.homothety")
    rows = [f"| {k + 1} " for k in range(model.n_clusters_)]
    for text in (answer.out, (tmp_path / "summary.md").read_text()):
        told = [line for line in text.splitlines() if re.match(r"\| \d", line)]
        assert [line[: len(row)] for line, row in zip(told, rows, strict=True)] == rows
    page = (tmp_path / "report.html").read_text()
    assert "Cluster 1: axes" in page
    assert "cluster 0" not in page.lower()


def test_figures_have_the_numbers_of_files_and_the_colours_of_the_report(monkeypatch, toy):
    drawn = []
    monkeypatch.setattr("homothety.viz.plot_spectra", lambda matrices, labels: drawn.append(labels))
    model = SPCMMixture(n_chains=2, n_sweeps=10, random_state=0).fit(toy.matrices)
    with suppress(AttributeError):  # what is drawn instead has no figure
        figures_of(model, toy)["spectra"].draw()
    clusters = group_items(drawn[0], len(toy))
    assert [cluster.name for cluster in clusters] == [str(k + 1) for k in range(model.n_clusters_)]
    assert [cluster.style for cluster in clusters] == [cluster_style(k) for k in range(model.n_clusters_)]


def test_the_page_shows_figures_that_exist(run, toy_file, tmp_path):
    run("cluster", toy_file, "-o", tmp_path / "results", "--figures", *QUICK)
    page = (tmp_path / "results" / "summary.md").read_text()
    assert not list((tmp_path / "results").glob("*part*"))
    figures = {path.name for path in (tmp_path / "results").glob("*.png")}
    assert figures == {f"{name}.png" for name in ("similarity", "coclustering", "embedding", "traces", "spectra")}
    assert all(f"]({name})" in page for name in figures)
    assert "Against the labels of the set, which the model was not told: NMI" in page


def test_json_is_all_there_is_on_stdout(run, toy_file, tmp_path):
    answer = run("cluster", toy_file, "-o", tmp_path / "results", "--json", *QUICK)
    data = json.loads(answer.out)
    assert data["labels"] == (homothety.load(tmp_path / "results" / "model.homothety").labels_ + 1).tolist()
    assert all((tmp_path / "results" / name).is_file() for name in data["files"])


def test_quiet_says_nothing(run, toy_file, tmp_path):
    answer = run("cluster", toy_file, "-o", tmp_path / "results", "--quiet", *QUICK)
    assert (answer.status, answer.out, answer.err) == (0, "", "")


def test_the_default_folder(run, toy_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("cluster", toy_file, *QUICK)
    assert (tmp_path / "homothety-output" / "labels.csv").is_file()


def test_equal_seeds_give_equal_draws(run, toy_file, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        run("cluster", toy_file, "-o", tmp_path / name, "--seed", seed, *QUICK)
    a, b, c = (homothety.load(tmp_path / name / "model.homothety").trace_["log_joint"] for name in "abc")
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_defaults_are_those_of_the_estimator():
    given = vars(build_parser().parse_args(["cluster", "file.npy"]))
    parameters = SPCMMixture().get_params()
    assert {p: given[p] for _, p, *_ in MODEL_OPTIONS} == {p: parameters[p] for _, p, *_ in MODEL_OPTIONS}


def test_options_reach_the_model(run, toy_file, tmp_path):
    shapes = {
        "--size": ("size", "use"),
        "--n-samples": ("n_samples", 50),
        "--resolution": ("resolution", 0.02),
        "--min-eigenvalue": ("min_eigenvalue", 1e-6),
    }
    links = {
        "--model": ("model", "links"),
        "--measure": ("measure", "bspcm"),
        "--variant": ("variant", "log"),
        "--tolerance": ("tolerance", 2.5),
        "--points": ("points", "spectral"),
        "--n-components": ("n_components", 2),
        "--solver": ("solver", "exact"),
        "--neighbor-share": ("neighbor_share", 2.0),
        "--concentration": ("concentration", 0.5),
        "--chains": ("n_chains", 3),
        "--sweeps": ("n_sweeps", 6),
        "--jobs": ("n_jobs", 1),
    }
    assert {*shapes, *links} == {flag for flag, *_ in MODEL_OPTIONS}
    for options, quick in ((shapes, QUICK), (links, ())):
        words = (word for flag, (_, value) in options.items() for word in (flag, value))
        run("cluster", toy_file, "-o", tmp_path, *words, *quick)
        parameters = homothety.load(tmp_path / "model.homothety").get_params()
        assert {name: parameters[name] for name, _ in options.values()} == dict(options.values())


def test_options_of_the_other_model_are_refused_by_their_names(run, toy_file):
    error = run("cluster", toy_file, "--variant", "log", "--size", "use", "--n-samples", 50).error
    assert "The SPCM-CRP mixture, chosen by --variant, has no --size, --n-samples: these are settings of" in error


def test_rules_for_the_number_of_columns_are_names(run, toy_file, tmp_path):
    run("cluster", toy_file, "-o", tmp_path, "--n-components", "paper", *QUICK)
    assert homothety.load(tmp_path / "model.homothety").n_components == "paper"


@pytest.fixture
def bad_files(tmp_path, toy):
    np.save(tmp_path / "indefinite.npy", toy.matrices - 2 * np.eye(6) * np.trace(toy.matrices[0]))
    labels = np.where(np.arange(12) == 2, np.nan, toy.labels)
    np.savez(tmp_path / "unlabelled.npz", matrices=toy.matrices, labels=labels)
    np.savez(tmp_path / "two.npz", a=toy.matrices, b=toy.matrices)
    np.savez(tmp_path / "field.npz", matrices=toy.matrices, grid=(3, 4))
    (tmp_path / "notes.txt").write_text("hello")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("notes.txt", (), "ends in '.txt', needed one of .npy"),
        ("indefinite.npy", (), "leave all such matrices out with --only-spd"),
        ("indefinite.npy", ("--only-spd",), "none of 12 matrices is positive definite"),
        ("toy.npz", ("--measure", "cosine"), "measure is 'cosine'"),
        ("toy.npz", ("--variant", "novel"), "--variant is 'novel'"),
        ("toy.npz", ("--points", "round"), "points is 'round'"),
        ("toy.npz", ("--n-components", "0"), "--n-components is 0"),
        ("toy.npz", ("--n-components", "-1"), "--n-components is -1"),
        ("toy.npz", ("--concentration", "-1"), "concentration is -1"),
        ("toy.npz", ("--jobs", "0"), "--jobs is 0, needed 1 or more"),
        ("unlabelled.npz", (), "the label of matrix 2, counted from 0, is NaN (1 such of 12)"),
        ("toy.npz", ("--variable", "sigma"), "has no array 'sigma'"),
        ("toy.npz", ("--order", "fsl"), "--order means nothing for"),
        ("two.npz", (), "Say which it is with --variable."),
        ("toy.npz", ("--spatial",), "does not say where its matrices are, which --spatial needs"),
        (
            "field.npz",
            ("--spatial", "--solver", "exact"),
            "--solver exact knows no neighbours: use --solver ordered",
        ),
        ("field.npz", ("--spatial", "--neighbor-share", "-1"), "--neighbor-share is -1.0, needed a finite number"),
    ],
)
def test_bad_input_exits_with_2_and_one_line(name, options, message, run, toy_file, bad_files, tmp_path):
    answer = run("cluster", bad_files / name, "-o", tmp_path / "results", *QUICK, *options)
    assert answer.status == 2
    assert message in answer.error
    assert answer.out == ""
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("command", ["cluster", "demo"])
def test_a_folder_that_cannot_be_written_to_is_found_before_the_work(command, run, toy_file):
    files = [toy_file] if command == "cluster" else []
    answer = run(command, *files, "-o", toy_file / "results", *(QUICK if files else ()))
    assert answer.status == 2
    assert f"{toy_file / 'results'} cannot be written to (Not a directory)" in answer.error
    assert "Sampling" not in answer.err


def test_progress_is_lines_where_nobody_watches(run, toy_file, tmp_path):
    assert "sampling 20/20 sweeps" in run("cluster", toy_file, "-o", tmp_path / "results", *QUICK).err


def test_figures_of_an_earlier_run_are_removed_and_nothing_else(run, toy_file, tmp_path):
    for name in ("traces.png", "ellipses.png", "series-1.png", "series-99.png", "mine.png", "traces.pdf"):
        (tmp_path / name).touch()
    run("cluster", toy_file, "-o", tmp_path, *QUICK)
    assert {path.name for path in tmp_path.glob("*.p*")} == {"series-99.png", "mine.png", "traces.pdf"}


def test_only_spd_keeps_the_numbers_of_the_file(run, toy, tmp_path):
    matrices = toy.matrices.copy()
    matrices[[0, 5]] = -np.eye(6)
    np.save(tmp_path / "some.npy", matrices)
    answer = run("cluster", tmp_path / "some.npy", "-o", tmp_path / "results", "--only-spd", *QUICK)
    assert column(read_labels(tmp_path / "results"), "index") == [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert "Left out 2 of 12 matrices" in answer.err


def test_a_field_has_positions_and_a_label_image(run, tmp_path):
    field = make_dti((3, 4), 2, random_state=0)
    np.savez(tmp_path / "field.npz", matrices=field.matrices, grid=field.grid)
    run("cluster", tmp_path / "field.npz", "-o", tmp_path / "results", "--figures", *QUICK)
    rows = read_labels(tmp_path / "results")
    np.testing.assert_array_equal(np.column_stack([column(rows, "i"), column(rows, "j")]), field.positions)
    assert "truth" not in rows[0]
    assert {"label-image.png", "ellipsoids.png"} <= {path.name for path in (tmp_path / "results").iterdir()}


def test_small_matrices_are_drawn_as_ellipses(run, rng, tmp_path):
    factors = rng.standard_normal((6, 2, 2))
    np.save(tmp_path / "flat.npy", factors @ factors.swapaxes(1, 2) + np.eye(2))
    run("cluster", tmp_path / "flat.npy", "-o", tmp_path / "results", "--figures", *QUICK)
    assert (tmp_path / "results" / "ellipses.png").is_file()


def write_tensor_image(path, field, sizes=(2.0, 2.0, 2.0)):
    nibabel = pytest.importorskip("nibabel")
    rows, columns = np.triu_indices(3)
    image = field.to_image(field.matrices[:, rows, columns])
    nibabel.save(nibabel.Nifti1Image(image.reshape(*field.grid, 6), np.diag([*sizes, 1.0])), path)
    return nibabel


def test_a_tensor_image_gets_a_label_image_on_the_same_voxels(run, tmp_path):
    field = make_dti((3, 2, 2), 2, random_state=0)
    nibabel = write_tensor_image(tmp_path / "dti.nii.gz", field)
    answer = run("cluster", tmp_path / "dti.nii.gz", "--order", "fsl", "-o", tmp_path / "results", *QUICK)
    assert answer.status == 0
    image = nibabel.load(tmp_path / "results" / "labels.nii.gz")
    model = homothety.load(tmp_path / "results" / "model.homothety")
    np.testing.assert_array_equal(np.asarray(image.dataobj), field.to_image(model.labels_ + 1))
    np.testing.assert_array_equal(image.affine, np.diag([2.0, 2.0, 2.0, 1.0]))


def test_a_label_image_has_lookup_tables_which_the_next_run_replaces(run, toy_file, tmp_path):
    write_tensor_image(tmp_path / "dti.nii.gz", make_dti((3, 2, 2), 2, random_state=0))
    folder, tables = tmp_path / "results", {"labels.nii.gz", "labels.lut", "labels_lut.txt"}
    answer = run("cluster", tmp_path / "dti.nii.gz", "--order", "fsl", "-o", folder, "--json", *QUICK)
    data = json.loads(answer.out)
    assert tables <= set(data["files"])
    for name in ("labels.lut", "labels_lut.txt"):
        values = {int(line.split()[0]) for line in (folder / name).read_text().splitlines()}
        assert set(data["labels"]) == values - {0}
    run("cluster", toy_file, "-o", folder, *QUICK)
    assert not tables & {path.name for path in folder.iterdir()}


def test_a_bad_tensor_is_named_with_its_voxel(run, tmp_path):
    field = make_dti((3, 2, 2), 2, random_state=0)
    field.matrices[7] *= -1
    write_tensor_image(tmp_path / "dti.nii.gz", field)
    answer = run("cluster", tmp_path / "dti.nii.gz", "--order", "fsl", "-o", tmp_path / "results", *QUICK)
    assert answer.status == 2
    assert "Matrix 7 is voxel (1, 1, 1). Or leave all such matrices out with --only-spd." in answer.error


def test_neighbours_in_an_image_may_link(run, tmp_path):
    field = make_dti((4, 3, 2), 2, random_state=0)
    write_tensor_image(tmp_path / "dti.nii.gz", field)
    folder = tmp_path / "results"
    run("cluster", tmp_path / "dti.nii.gz", "--order", "fsl", "--spatial", "-o", folder, *QUICK)
    model = homothety.load(folder / "model.homothety")
    expected = SPCMMixture(n_chains=2, n_sweeps=10, random_state=0)
    read = homothety.datasets.read_matrices(tmp_path / "dti.nii.gz", order="fsl")
    np.testing.assert_array_equal(model.draws_, expected.fit(read.matrices, positions=read.positions).draws_)
    assert json.loads((folder / "summary.json").read_text())["spatial"]
    assert "Voxels could link to those beside them." in (folder / "summary.md").read_text()


def test_thick_slices_are_no_neighbours(run, tmp_path):
    write_tensor_image(tmp_path / "dti.nii.gz", make_dti((4, 3, 2), 2, random_state=0), sizes=(2.0, 2.0, 5.0))
    folder = tmp_path / "results"
    answer = run("cluster", tmp_path / "dti.nii.gz", "--order", "fsl", "--spatial", "-o", folder, *QUICK)
    assert "Along k, voxels are too far apart to count as neighbours" in answer.err
    model = homothety.load(folder / "model.homothety")
    expected = SPCMMixture(n_chains=2, n_sweeps=10, random_state=0)
    read = homothety.datasets.read_matrices(tmp_path / "dti.nii.gz", order="fsl")
    np.testing.assert_array_equal(model.draws_, expected.fit(read.matrices, positions=read.link_positions).draws_)
    column_of = np.column_stack([column(read_labels(folder), axis) for axis in "ijk"])
    np.testing.assert_array_equal(column_of, read.positions)


def test_a_missing_extra_exits_with_2_and_names_it(run, tmp_path, monkeypatch):
    write_tensor_image(tmp_path / "dti.nii", make_dti((3, 2, 2), 2, random_state=0))
    monkeypatch.setitem(sys.modules, "nibabel", None)
    answer = run("cluster", tmp_path / "dti.nii", "--order", "fsl", "-o", tmp_path / "results")
    assert answer.status == 2
    assert "homothety[dti]" in answer.error


def test_figures_are_written_only_if_asked_for_and_refused_before_the_work(run, toy_file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused = run("cluster", toy_file, "-o", tmp_path / "results", "--figures", *QUICK)
    assert refused.status == 2
    assert "--figures needs the package matplotlib" in refused.error
    assert not (tmp_path / "results").exists()
    assert run("cluster", toy_file, "-o", tmp_path / "results", *QUICK).status == 0
    names = {path.name for path in (tmp_path / "results").iterdir()}
    assert names == {
        "report.html",
        "labels.csv",
        "summary.json",
        "summary.md",
        "model.homothety",
        "matrices.npz",
        "run.json",
        "checkpoint",
    }


def test_warnings_of_the_library_are_passed_on(run, toy, tmp_path):
    matrices = toy.matrices.copy()
    values, vectors = np.linalg.eigh(matrices[0])
    matrices[0] = vectors * np.maximum(values, 1.0) * [0, 1, 1, 1, 1, 1] @ vectors.T
    np.save(tmp_path / "singular.npy", matrices)
    answer = run("cluster", tmp_path / "singular.npy", "-o", tmp_path / "results", *QUICK)
    assert answer.status == 0
    assert "Note: " in answer.err


def test_an_interrupt_saves_what_was_sampled_and_exits_with_130(run, toy_file, tmp_path, interrupt_after):
    interrupt_after(8)
    answer = run("cluster", toy_file, "-o", tmp_path, "--chains", "2", "--sweeps", "10")
    assert answer.status == 130
    assert "Interrupted: the answer rests on the 3 sweeps kept until then" in answer.err
    model, summary = homothety.load(tmp_path / "model.homothety"), json.loads((tmp_path / "summary.json").read_text())
    assert summary["interrupted"]
    assert summary["sweeps_kept"] == len(model.draws_) == 3
    assert column(read_labels(tmp_path), "label") == (model.labels_ + 1).tolist()
    assert "The run was interrupted" in (tmp_path / "summary.md").read_text()


def test_an_interrupt_before_anything_was_kept_exits_with_130(run, toy_file, tmp_path, interrupt_after):
    interrupt_after(2)
    answer = run("cluster", toy_file, "-o", tmp_path / "results", *QUICK)
    assert answer.status == 130
    assert f"nothing to report. To go on from there: homothety resume {tmp_path / 'results'}" in answer.error
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"run.json", "checkpoint"}


# Chains


def test_whether_chains_agree_is_told_everywhere(run, toy_file, tmp_path):
    answer = run("cluster", toy_file, "-o", tmp_path / "results", *QUICK)
    model = homothety.load(tmp_path / "results" / "model.homothety")
    summary = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert summary["chains_agree"] == model.diagnose().agree
    said = chains_answer(model.result_.chains)
    assert summary["verdict"] == " ".join([said.short, said.text, *said.points])
    for text in (answer.out, (tmp_path / "results" / "summary.md").read_text()):
        assert all(part in text for part in (said.question, said.short, said.text, *said.points))


def test_chains_that_do_not_agree_are_told_once(run, tmp_path):
    np.save(tmp_path / "noisy.npy", make_wishart_families(random_state=0).matrices)
    answer = run("cluster", tmp_path / "noisy.npy", "-o", tmp_path / "results", "--sweeps", "200")
    summary = json.loads((tmp_path / "results" / "summary.json").read_text())
    said = "Another run may say something else. Run longer: n_sweeps=400, or homothety resume with --sweeps 400."
    assert summary["chains_agree"] is False
    assert summary["verdict"].startswith(f"Not yet. {said}")
    told = r"The number of clusters differs between chains \(R-hat 1\.\d\d, needed 1\.1 or less\)\."
    assert re.search(told, summary["verdict"])
    assert len(re.findall(told, answer.out)) == 1
    assert "R-hat" not in answer.err
    assert said in (tmp_path / "results" / "summary.md").read_text()
    report = (tmp_path / "results" / "report.html").read_text()
    assert said in report
    assert "The number of clusters differs between chains" in report


@pytest.fixture
def clipped_file(tmp_path):
    """Return a file of twelve matrices, of which numbers 2 and 7 have a clipped eigenvalue."""
    matrices = np.array(make_wishart_families(1, 3, n_per_family=12, random_state=0).matrices)
    for i in (2, 7):
        lengths, axes = np.linalg.eigh(matrices[i])
        matrices[i] = (axes * [1e-9 * lengths[2], *lengths[1:]]) @ axes.T
    np.save(tmp_path / "clipped.npy", matrices)
    return tmp_path / "clipped.npy"


def test_matrices_that_look_clipped_are_named(run, clipped_file, tmp_path):
    told = "2 of 12 matrices are nearly singular, as if an eigenvalue had been clipped: matrix 2, matrix 7."
    assert told in run("cluster", clipped_file, "-o", tmp_path / "out", *QUICK).out
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["nearly_singular"] == [2, 7]
    for name in ("summary.md", "report.html"):
        assert told in (tmp_path / "out" / name).read_text(encoding="utf-8")


def test_matrices_that_look_clipped_are_left_out_or_raised_if_wanted(run, clipped_file, tmp_path):
    wanted = ["cluster", clipped_file, "-o", tmp_path / "out", *QUICK, "--min-eigenvalue", "1e-4"]
    assert "2 of 12 matrices have eigenvalues below 0.0001 of their largest" in run(*wanted).err
    left_out = run(*wanted, "--only-spd")
    assert "Left out 2 of 12 matrices" in left_out.err
    assert "10 matrices" in left_out.out
    assert "10 matrices" in run(*wanted, "--only-spd", "--variant", "log").out
