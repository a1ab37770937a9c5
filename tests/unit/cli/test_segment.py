from __future__ import annotations

import csv
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import homothety
from fabricated import make_recordings, make_segmentation, with_parts, with_trace
from homothety import IBPHMM, ICSCHMM, ActionHMM, HMMSelection, StickyHDPHMM
from homothety.cli.app import build_parser
from homothety.cli.results import _write_recordings
from homothety.cli.segment import _CLASSES, MODEL_OPTIONS
from homothety.phrases import ordinal
from homothety.report.document import chains_answer
from homothety.report.segmentation import _weight_note
from homothety.summaries.result import Provenance

QUICK = ("--chains", "2", "--sweeps", "8")
ICSC = ("--model", "icsc", *QUICK)
PICTURES = ("segments", "actions", "trajectories", "ellipses", "features", "transitions", "coaction", "transforms")
TABLES = {
    "report.html",
    "recordings.npz",
    "summary.md",
    "segments.csv",
    "action_segments.csv",
    "action_boundaries.csv",
    "transforms.csv",
    "boundaries.csv",
    "labels.csv",
    "states.json",
    "summary.json",
}
RUN = ("run.json", "checkpoint")


def read_table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_everything_is_written_and_agrees(run, recordings, series_file, tmp_path):
    folder = tmp_path / "results"
    answer = run("segment", series_file, "-o", folder, "--figures", *ICSC)
    assert answer.status == 0
    model = homothety.load(folder / "model.homothety")
    assert isinstance(model, ICSCHMM)
    summary, states = (json.loads((folder / f"{name}.json").read_text()) for name in ("summary", "states"))
    figures = {f"{name}.png" for name in (*PICTURES, "traces", *(f"series-{i}" for i in range(4)))}
    assert {path.name for path in folder.iterdir()} == {*TABLES, *figures, "model.homothety", *RUN}
    assert all(f"]({name})" in (folder / "summary.md").read_text() for name in figures)

    labels = read_table(folder / "labels.csv")
    assert [int(row["state"]) for row in labels] == np.concatenate(model.paths_).tolist()
    assert [int(row["step"]) for row in labels[: len(model.paths_[0])]] == list(range(len(model.paths_[0])))
    shares = [float(row["change_probability"]) for row in labels]
    np.testing.assert_allclose(shares, np.concatenate(model.change_probability_), atol=1e-4)

    segments = read_table(folder / "segments.csv")
    assert list(segments[0])[:5] == ["series", "start", "end", "state", "probability"]
    rebuilt = [int(row["state"]) for row in segments for _ in range(int(row["start"]), int(row["end"]))]
    assert rebuilt == np.concatenate(model.paths_).tolist()
    assert [row["series"] for row in segments] == [f"demos {one.series}" for one in model.segments_]

    boundaries = read_table(folder / "boundaries.csv")
    assert [int(row["step"]) for row in boundaries] == [one.step for one in model.boundaries_]
    assert len(boundaries) == len(segments) - len(recordings)
    of_actions = read_table(folder / "action_boundaries.csv")
    assert [(int(row["step"]), int(row["low"])) for row in of_actions] == [
        (one.step, one.low) for one in model.action_boundaries_
    ]

    assert states["dimensions"] == ["left", "right"]
    np.testing.assert_allclose([one["mean"] for one in states["states"]], model.means_)
    np.testing.assert_allclose([one["covariance"] for one in states["states"]], model.covariances_)
    assert sum(one["steps"] for one in states["states"]) == recordings.n_steps
    assert (summary["states"], summary["stride"], summary["sweeps_kept"]) == (model.n_states_, 1, 8)
    assert f"4 recordings in {len(model.action_segments_)} segments of {model.n_actions_} action" in answer.out
    assert f"({model.n_states_} states)." in answer.out
    assert "All steps were used" in answer.out
    assert f"Remaining autocorrelation is corrected for by weighting each sample {model.step_weight_:.2g}" in answer.out
    assert re.search(r"Do the chains agree\? (Yes|Not yet)\.", answer.out)


@pytest.mark.parametrize(
    ("model", "weight", "said"),
    [
        (ICSCHMM(), 0.234, "Remaining autocorrelation is corrected for by weighting each sample 0.23 "),
        (ICSCHMM(), 1.0, "Each sample counts in full: no autocorrelation is left."),
        (ICSCHMM(step_weight=0.5), 0.5, "Each sample has weight 0.5, as asked for."),
        (IBPHMM(step_weight=1.0), 1.0, "Each sample counts in full."),
    ],
)
def test_the_weight_of_a_step_is_told_with_its_reason(model, weight, said):
    made_up = with_parts(make_segmentation(make_recordings()), provenance=Provenance.of(model)).result_
    note = _weight_note(replace(made_up, step_weights={"": weight}))
    assert note.startswith(said)
    assert ("--step-weight 1" in note) == (weight == 0.234)
    assert _weight_note(made_up) == ""


def test_recordings_have_frames_by_default(run, tmp_path, demonstrations):
    folder = tmp_path / "results"
    _write_recordings(tmp_path / "demos.npz", demonstrations)
    answer = run("segment", tmp_path / "demos.npz", "-o", folder, *QUICK)
    assert answer.status == 0
    model = homothety.load(folder / "model.homothety")
    assert isinstance(model, ActionHMM)
    assert "Channels: position (x, y, z)." in answer.err
    assert f"of {model.n_actions_} actions ({model.n_states_} states)." in answer.out
    assert "times as large" in answer.out
    assert "Remaining autocorrelation is corrected for by weighting each sample" in answer.out

    rows, frames = read_table(folder / "frames.csv"), model.frames_
    assert [row["recording"] for row in rows] == [one.name for one in frames]
    assert [float(row["turned_by"]) for row in rows] == pytest.approx([one.angle for one in frames], rel=1e-4)
    assert [float(row["moved_z_high"]) for row in rows] == pytest.approx(
        [one.place_intervals[0, 2, 1] for one in frames], rel=1e-4, abs=1e-9
    )
    assert not (folder / "transforms.csv").exists()
    summary, states = (json.loads((folder / f"{name}.json").read_text()) for name in ("summary", "states"))
    assert summary["blocks"]["kinds"] == ["point"]
    assert [one["recording"] for one in summary["frames"]] == [one.name for one in frames]
    assert states["dimensions"] == ["x", "y", "z", "velocity of x", "velocity of y", "velocity of z"]
    page = (folder / "summary.md").read_text()
    assert "`frames.csv`: how recordings are turned, resized and moved" in page
    assert not list(folder.glob("*.png"))

    before = (folder / "report.html").read_text()
    assert 'data-chart="aligned"' in before
    (folder / "report.html").unlink()
    assert run("report", folder).status == 0
    assert (folder / "report.html").read_text() == before


def test_options_of_frames_reach_the_model(run, tmp_path, demonstrations):
    options = {
        "--blocks": ("blocks", "point"),
        "--frames": ("frames", "one"),
        "--rotations": ("rotations", "yaw"),
        "--actions": ("n_actions", 2),
        "--least-stay": ("least_stay", 12),
        "--outliers": ("outliers", "keep"),
        "--chains": ("n_chains", 1),
        "--sweeps": ("n_sweeps", 4),
        "--burn": ("n_burn", 2),
        "--jobs": ("n_jobs", 1),
    }
    assert set(options) == {option.flag for option in MODEL_OPTIONS if "actions" in option.models}
    _write_recordings(tmp_path / "demos.npz", demonstrations)
    words = [word for flag, (_, value) in options.items() for word in (flag, value)]
    preparation = ("--subsample", "4", "--velocities", "none")
    answer = run("segment", tmp_path / "demos.npz", *words, *preparation, "-o", tmp_path)
    assert "All recordings share one frame" in answer.out
    model = homothety.load(tmp_path / "model.homothety")
    expected = dict(options.values()) | {"blocks": ["point"], "subsample": 4, "velocities": False}
    parameters = model.get_params(deep=False)
    assert {name: parameters[name] for name in expected} == expected
    assert model.n_actions_ == 2


def test_json_is_all_there_is_on_stdout(run, series_file, tmp_path):
    answer = run("segment", series_file, "-o", tmp_path / "results", "--json", *ICSC)
    data = json.loads(answer.out)
    model = homothety.load(tmp_path / "results" / "model.homothety")
    assert [row["state"] for row in data["segments"]] == [one.label for one in model.segments_]
    assert [row["action"] for row in data["action_segments"]] == [one.label for one in model.action_segments_]
    assert all((tmp_path / "results" / name).is_file() for name in data["files"])


def test_a_single_recording_says_less_of_actions(run, recordings, tmp_path):
    np.save(tmp_path / "one.npy", np.concatenate(recordings.sequences))
    answer = run("segment", tmp_path / "one.npy", "-o", tmp_path / "results", *ICSC)
    said = "There is only one recording, and in each an action is expected in one version"
    assert said in answer.out
    assert said in (tmp_path / "results" / "summary.md").read_text()


def test_quiet_says_nothing(run, series_file, tmp_path):
    answer = run("segment", series_file, "-o", tmp_path / "results", "--quiet", *QUICK)
    assert (answer.status, answer.out, answer.err) == (0, "", "")


@pytest.mark.parametrize(("name", "kind"), [("ibp", IBPHMM), ("hdp", StickyHDPHMM), ("hmm", HMMSelection)])
def test_other_models(name, kind, run, series_file, tmp_path, monkeypatch):
    options = ("--max-states", "3", "--figures") if name == "hmm" else QUICK
    (tmp_path / "results").mkdir()
    of_actions = [
        tmp_path / "results" / f"{name}.csv" for name in ("action_segments", "action_boundaries", "transforms")
    ]
    for path in of_actions:
        path.touch()  # of an earlier run
    answer = run("segment", series_file, "--model", name, "-o", tmp_path / "results", *options)
    assert answer.status == 0
    model = homothety.load(tmp_path / "results" / "model.homothety")
    assert type(model) is kind
    assert "This model knows no actions" in answer.out
    assert "| action" not in answer.out
    assert not any(path.exists() for path in of_actions)
    assert "transforms" not in json.loads((tmp_path / "results" / "summary.json").read_text())
    assert list(read_table(tmp_path / "results" / "segments.csv")[0])[3:] == ["state", "probability"]
    steps = [int(row["step"]) for row in read_table(tmp_path / "results" / "boundaries.csv")]
    assert steps == [one.start for one in model.segments_ if one.start]
    assert (tmp_path / "results" / "series-0.png").is_file() == (name == "hmm")
    assert ("nothing is known of how sure its answer is" in answer.out) == (name == "hmm")


def test_autoregressive_states_have_coefficients(run, series_file, tmp_path):
    options = ("--emission", "autoregressive", "--order", "2")
    assert run("segment", series_file, "-o", tmp_path, *options, *ICSC).status == 0
    states = json.loads((tmp_path / "states.json").read_text())
    assert states["order"] == 2
    assert np.shape(states["states"][0]["coefficients"]) == (2, 4)


def test_one_file_per_demonstration(run, recordings, tmp_path):
    files = [tmp_path / f"demo_{i}.csv" for i in (1, 2, 10)]
    for path, one in zip(files, recordings.sequences, strict=False):
        np.savetxt(path, one, delimiter=",", header="x,y", comments="")
    answer = run("segment", *files, "-o", tmp_path / "results", *QUICK)
    assert answer.status == 0
    names = [row["series"] for row in read_table(tmp_path / "results" / "segments.csv")]
    assert list(dict.fromkeys(names)) == ["demo_1", "demo_2", "demo_10"]


def test_one_table_with_a_group_column(run, recordings, tmp_path):
    rows = [
        f"{name},{step},{x},{y},{step % 7}"
        for name, one in zip("ab", recordings.sequences, strict=False)
        for step, (x, y) in enumerate(one)
    ]
    (tmp_path / "log.csv").write_text("\n".join(["episode,time,x,y,noise", *rows]))
    options = ("--group", "episode", "--columns", "x,y")
    assert run("segment", tmp_path / "log.csv", *options, "-o", tmp_path / "results", *QUICK).status == 0
    labels = read_table(tmp_path / "results" / "labels.csv")
    assert [row["series"] for row in labels] == ["a"] * len(recordings.sequences[0]) + ["b"] * len(
        recordings.sequences[1]
    )
    assert json.loads((tmp_path / "results" / "states.json").read_text())["dimensions"] == ["x", "y"]


def test_times_are_in_seconds_where_the_rate_is_known(run, recordings, tmp_path):
    one = recordings.sequences[0]
    rows = [f"{step / 20},{x},{y}" for step, (x, y) in enumerate(one)]
    (tmp_path / "log.csv").write_text("\n".join(["time,x,y", *rows]))
    answer = run("segment", tmp_path / "log.csv", "-o", tmp_path / "told", *QUICK, "--least-stay", "0.2s")
    assert answer.status == 0
    assert "| seconds |" in answer.out
    table = read_table(tmp_path / "told" / "segments.csv")
    assert float(table[-1]["end_s"]) == pytest.approx(len(one) / 20)
    assert homothety.load(tmp_path / "told" / "model.homothety").least_stay == 4
    assert json.loads((tmp_path / "told" / "summary.json").read_text())["rate"] == 20
    given = run("segment", tmp_path / "log.csv", "-o", tmp_path / "given", *QUICK, "--rate", "40")
    assert given.status == 0
    assert float(read_table(tmp_path / "given" / "boundaries.csv")[0]["step_s"]) >= 0
    assert float(read_table(tmp_path / "given" / "segments.csv")[-1]["end_s"]) == pytest.approx(len(one) / 40)


def test_warnings_speak_of_options(run, recordings, tmp_path):
    np.savetxt(tmp_path / "log.csv", recordings.sequences[0], delimiter=",", header="x,y", comments="")
    answer = run("segment", tmp_path / "log.csv", "-o", tmp_path / "results", *QUICK, "--actions", "40")
    assert answer.status == 0
    assert "Note: --actions is 40, but" in answer.err
    assert "Make --least-stay or --subsample smaller to find finer states." in answer.err


def test_a_least_stay_in_seconds_needs_a_rate(run, recordings, tmp_path):
    np.savetxt(tmp_path / "log.csv", recordings.sequences[0], delimiter=",", header="x,y", comments="")
    answer = run("segment", tmp_path / "log.csv", "-o", tmp_path / "results", "--least-stay", "0.2s")
    assert answer.status == 2
    assert "--least-stay is '0.2s', but the steps per second of the recordings are not known" in answer.error
    assert "neither a whole number of steps nor a time" in run("segment", "log.csv", "--least-stay", "soon").err


def test_options_of_preparation_reach_the_model(run, rng, tmp_path):
    swing = np.cumsum(rng.normal(size=(2, 80, 5)), axis=1)
    np.savez(tmp_path / "arm.npz", X=np.concatenate(swing), lengths=[80, 80], channels=["z", "a", "b", "c", "d"])
    options = ("--quaternions", "a,b,c,d", "--smooth", "5", "--subsample", "3", "--scale", "std", "--centre", "series")
    answer = run("segment", tmp_path / "arm.npz", *options, "--velocities", "append", "-o", tmp_path, *ICSC)
    assert answer.status == 0
    fitted = homothety.load(tmp_path / "model.homothety").preprocessing_
    settings = fitted.settings
    assert settings.quaternions == ((1, 2, 3, 4),)
    assert (settings.smooth, settings.subsample, settings.scale, settings.centre) == (5, 3, "std", "series")
    assert settings.velocities == "append"
    assert fitted.n_dims == 10
    assert "Every 3rd step was used, as asked for." in answer.out
    states = json.loads((tmp_path / "states.json").read_text())
    assert states["means_are_relative_to_each_series"]
    assert states["dimensions"][5] == "velocity of z"


def test_centring_and_groups_of_columns(run, series_file, tmp_path):
    options = ("--centre", "none", "--scale", "range", "--scale-together", "left,right")
    run("segment", series_file, *options, "-o", tmp_path, *ICSC)
    settings = homothety.load(tmp_path / "model.homothety").preprocessing_.settings
    assert (settings.centre, settings.scale, settings.groups) == (None, "range", ((0, 1),))


def test_steps_left_out_by_measurement_are_said(run, tmp_path):
    time = np.arange(400)
    swing = np.column_stack([np.sin(time / 25), np.cos(time / 25)]) + (time > 200)[:, None]
    np.save(tmp_path / "swing.npy", swing)
    answer = run("segment", tmp_path / "swing.npy", "-o", tmp_path / "results", *QUICK)
    stride = json.loads((tmp_path / "results" / "summary.json").read_text())["stride"]
    assert stride > 1
    assert f"strongly correlated, so every {ordinal(stride)} was used" in answer.out
    assert "--subsample 1" in answer.out
    assert len(read_table(tmp_path / "results" / "labels.csv")) == 400


def test_defaults_are_those_of_the_estimators():
    given = vars(build_parser().parse_args(["segment", "file.npz"]))
    assert all(given[option.parameter] is None for option in MODEL_OPTIONS)
    for option in MODEL_OPTIONS:
        for name in option.models:
            parameters = getattr(homothety, _CLASSES[name])().get_params()
            default = parameters[option.parameter]
            # What the help says is repeated there, because loading the estimators would make it slow.
            if default is not None:
                assert re.search(rf"\b{default}\b", option.meaning), option


def test_options_reach_the_model(run, series_file, tmp_path):
    options = {
        "--grouping": ("grouping", "links"),
        "--step-weight": ("step_weight", 0.5),
        "--emission": ("emission", "autoregressive"),
        "--order": ("order", 3),
        "--least-stay": ("least_stay", 2),
        "--outliers": ("outliers", "keep"),
        "--chains": ("n_chains", 2),
        "--sweeps": ("n_sweeps", 5),
        "--burn": ("n_burn", 3),
        "--jobs": ("n_jobs", 1),
    }
    assert set(options) == {option.flag for option in MODEL_OPTIONS if "icsc" in option.models}
    words = [word for flag, (_, value) in options.items() for word in (flag, value)]
    run("segment", series_file, "--model", "icsc", "-o", tmp_path, *words)
    parameters = homothety.load(tmp_path / "model.homothety").get_params(deep=False)
    assert {name: parameters[name] for name, _ in options.values()} == dict(options.values())


@pytest.fixture
def bad_files(tmp_path, recordings):
    one = recordings.sequences[0].copy()
    np.save(tmp_path / "flat.npy", one[:, 0])
    np.save(tmp_path / "constant.npy", one * [1, 0] + [0, 2])
    np.savetxt(tmp_path / "constant.csv", one * [1, 0] + [0, 2], delimiter=",", header="x,y", comments="")
    np.savez(tmp_path / "two.npz", a=one, b=one[:, :1])
    np.savez(tmp_path / "cut.npz", X=one, lengths=[len(one) + 1])
    (tmp_path / "words.csv").write_text("x,word\n1,a\n2,\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("words.csv", (), "Choose the columns of measurements with --columns."),
        ("words.csv", ("--group", "word", "--columns", "x"), "line 3 has nothing in the column of --group"),
        ("two.npz", (), "Say which array to read with --variable."),
        ("cut.npz", (), "Correct lengths."),
        ("flat.npy", (), "needed (n_steps, n_dims)"),
        ("constant.npy", ("--model", "icsc"), "Channel 1 is 2 at every step"),
        ("constant.csv", ("--model", "icsc"), "leave it out, in files by naming the others with --columns."),
        ("demos.npz", ("--model", "icsc", "--quaternions", "0,1"), "needed four dimensions each"),
        ("demos.npz", ("--columns", "left,right,left"), "--columns names column 'left' twice"),
        (
            "demos.npz",
            ("--model", "icsc", "--quaternions", "left,left,right,right"),
            "--quaternions names column 'left' twice",
        ),
        (
            "demos.npz",
            ("--model", "icsc", "--scale-together", "left,right"),
            "--scale-together means nothing without --scale std or",
        ),
        (
            "demos.npz",
            ("--model", "icsc", "--scale", "std", "--scale-together", "left", "--scale-together", "left"),
            "--scale-together names dimension 0 twice",
        ),
        ("demos.npz", ("--model", "icsc", "--smooth", "4"), "--smooth is 4, needed an odd number"),
        ("demos.npz", ("--model", "icsc", "--smooth", "3"), "--smooth is 3, needed an odd number of steps, at least 5"),
        ("demos.npz", ("--subsample", "often"), "--subsample is 'often', needed a whole number"),
        ("demos.npz", ("--subsample", "-1"), "--subsample is -1, needed at least 1"),
        ("demos.npz", ("--subsample", "0"), "--subsample is 0"),
        ("demos.npz", ("--subsample", "500"), "has 43 steps, needed at least 501"),
        ("demos.npz", ("--model", "icsc", "--columns", "left"), "has 1 column of measurements, needed 2 or more"),
        (
            "demos.npz",
            ("--model", "icsc", "--columns", "left"),
            "Use --model ibp to find states alone, or add --velocities append.",
        ),
        ("demos.npz", ("--group", "left"), "--group means nothing for"),
        (
            "demos.npz",
            ("--model", "icsc", "--grouping", "size"),
            "--grouping is 'size', needed 'shapes', 'links' or a grouping.",
        ),
        ("demos.npz", ("--grouping", "links", "--model", "ibp"), "--grouping means nothing for --model ibp; it is for"),
        ("demos.npz", ("--model", "icsc", "--step-weight", "2"), "--step-weight is 2.0, needed at most 1, or 'auto'."),
        ("demos.npz", ("--model", "icsc", "--emission", "poisson"), "--emission is 'poisson'"),
        ("demos.npz", ("--model", "icsc", "--order", "2"), "only autoregressive states look at past steps"),
        (
            "demos.npz",
            ("--model", "icsc", "--order", "2", "--emission", "diagonal"),
            "Add --emission autoregressive, or leave it out.",
        ),
        (
            "demos.npz",
            ("--model", "icsc", "--emission", "autoregressive", "--order", "90"),
            "needed at least 91 for autoregressive states of order 90",
        ),
        ("demos.npz", ("--model", "hmm", "--chains", "2"), "--chains means nothing for --model hmm"),
        ("demos.npz", ("--model", "ibp", "--max-states", "2"), "it is for hdp and hmm"),
        ("demos.npz", ("--sweeps", "4", "--burn", "4"), "--burn is 4 and --sweeps is 4"),
        (
            "demos.npz",
            ("--centre", "series"),
            "--centre means nothing for --model actions: every recording has a place",
        ),
        ("demos.npz", ("--smooth", "5"), "Leave it out, or use --model icsc."),
        ("demos.npz", ("--quaternions", "0,1"), "found by the names of columns, or listed with --blocks"),
        ("demos.npz", ("--velocities", "replace"), "--velocities replace means nothing for --model actions"),
        (
            "demos.npz",
            ("--blocks", "point,force"),
            "--blocks has 'force' at place 1, counted from 0, needed one of 'point'",
        ),
        ("demos.npz", ("--blocks", "point,plain"), "which needs 3 channels in 2-D or 4 in 3-D"),
        ("demos.npz", ("--frames", "two"), "--frames: invalid choice: 'two'"),
        ("demos.npz", ("--grouping", "links"), "--grouping means nothing for --model actions; it is for icsc"),
        ("demos.npz", ("--actions", "2", "--model", "icsc"), "--actions means nothing for --model icsc"),
    ],
)
def test_bad_input_exits_with_2_and_one_line(name, options, message, run, series_file, bad_files, tmp_path):
    answer = run("segment", bad_files / name, "-o", tmp_path / "results", *options)
    assert answer.status == 2
    assert message in answer.error
    assert answer.out == ""
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("command", ["segment", "compare"])
def test_a_folder_that_cannot_be_written_to_is_found_before_the_work(command, run, series_file):
    answer = run(command, series_file, "-o", series_file / "results")
    assert answer.status == 2
    assert "cannot be written to (Not a directory), needed a folder for the results" in answer.error
    assert "Reading" not in answer.err


def test_dimensions_of_prepared_series_are_called_by_their_columns(run, tmp_path):
    line = np.column_stack([np.arange(40.0), np.random.default_rng(0).normal(size=40)])
    np.savetxt(tmp_path / "line.csv", line, delimiter=",", header="time passed,y", comments="")
    options = ("--velocities", "append", "--scale", "std", "--centre", "series", "--subsample", "1")
    answer = run("segment", "--model", "icsc", tmp_path / "line.csv", *options, "-o", tmp_path / "results")
    assert answer.status == 2
    assert "channel velocity of time passed is constant" in answer.error


def test_names_of_channels_reach_the_model(run, rng, tmp_path, monkeypatch):
    seen, segment = [], HMMSelection._segment
    monkeypatch.setattr(HMMSelection, "_segment", lambda self, made: (seen.append(made.channels), segment(self, made)))
    np.savetxt(tmp_path / "demo.csv", rng.normal(size=(30, 2)), delimiter=",", header="fx,fy", comments="")
    options = ("--model", "hmm", "--max-states", "2", "--velocities", "append", "--subsample", "1")
    assert run("segment", tmp_path / "demo.csv", *options, "-o", tmp_path / "results").status == 0
    assert seen == [("fx", "fy", "velocity of fx", "velocity of fy")]


def test_progress_is_lines_on_stderr_where_nobody_watches(run, series_file, tmp_path):
    shown = run("segment", series_file, "-o", tmp_path / "results", *QUICK)
    assert "sampling 16/16 sweeps" in shown.err
    assert "sampling" not in shown.out
    for options in (("--quiet",), ("--json",)):
        assert "sampling" not in run("segment", series_file, "-o", tmp_path / "results", *options, *QUICK).err


def test_figures_of_an_earlier_run_are_removed(run, recordings, series_file, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("similarity.png", "traces.png", "transforms.png", "series-1.png", "series-7.png", "notes.png"):
        (folder / name).touch()
    np.save(tmp_path / "one.npy", recordings.sequences[0])
    options = ("--model", "hmm", "--max-states", "2", "--figures")
    assert run("segment", tmp_path / "one.npy", "-o", folder, *options).status == 0
    assert {path.name for path in folder.glob("*.png")} == {"segments.png", "series-0.png", "notes.png"}


@pytest.mark.parametrize(
    "words",
    [("--chains", "0"), ("--columns", "a,,b"), ("--model", "lda"), ("--centre", "left"), ("--step-weight", "half")],
)
def test_wrong_arguments_exit_with_2(words, run, series_file):
    answer = run("segment", series_file, *words)
    assert answer.status == 2
    assert words[0] in answer.error


def test_an_interrupt_saves_what_was_sampled_and_exits_with_130(
    run, series_file, tmp_path, interrupt_segmentation_after
):
    interrupt_segmentation_after(13)
    answer = run("segment", series_file, "-o", tmp_path, "--chains", "2", "--sweeps", "10")
    assert answer.status == 130
    assert "Interrupted: the answer rests on the 5 sweeps kept until then" in answer.err
    model, summary = homothety.load(tmp_path / "model.homothety"), json.loads((tmp_path / "summary.json").read_text())
    assert summary["interrupted"]
    assert summary["sweeps_kept"] == len(model.draws_) == 5  # the second chain had not come to keep any
    assert "The run was interrupted" in (tmp_path / "summary.md").read_text()
    assert "Only one chain has kept sweeps" in summary["verdict"]


@pytest.mark.parametrize(("shift", "short"), [(0, "Yes."), (9, "Not yet.")])
def test_the_answer_about_chains_needs_no_extra(monkeypatch, shift, short):
    model = make_segmentation(make_recordings())
    values = np.random.default_rng(0).normal(size=(2, 1000)) + np.array([[0], [shift]])
    chains = with_trace(model, **dict.fromkeys(model.trace_, values)).result_.chains
    monkeypatch.setitem(sys.modules, "arviz", None)
    assert chains_answer(chains).short == short


def test_segment_runs_without_arviz(run, series_file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    assert run("segment", series_file, "-o", tmp_path / "results", *QUICK).status == 0
    assert json.loads((tmp_path / "results" / "summary.json").read_text())["chains_agree"] in (True, False)


def test_many_series_are_not_all_listed_on_the_terminal(run, rng, tmp_path):
    np.savez(tmp_path / "many.npz", **{f"demo {i}": rng.normal(size=(6, 1)) for i in range(23)})
    answer = run("segment", tmp_path / "many.npz", "--model", "hmm", "--max-states", "1", "-o", tmp_path / "results")
    assert "demo 19" in answer.out
    assert "demo 20" not in answer.out
    assert "... and 3 more recordings." in answer.out
    assert "demo 22" in (tmp_path / "results" / "summary.md").read_text()
