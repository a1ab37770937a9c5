"""A slice of `make fuzz`, and that the harness would find what it looks for. The whole takes minutes: `make fuzz`."""

from __future__ import annotations

import os
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from hardening import attacks, fuzz, mutations
from hardening.attacks import Try, carry_out, goods_of, parse_try
from hardening.chaos import HarmError, _check_answer
from hardening.goods import write_goods
from hardening.soak import chain_of, run
from homothety import SPCMMixture
from homothety.archives import memory_limit
from homothety.datasets import make_toy_6d
from homothety.datasets.readers.apart import reading_apart

SLICE = ("series", "matrices", "models", "checkpoints", "arrays")
N_TRIES = 60


@pytest.fixture(scope="module")
def goods(tmp_path_factory):
    folder = tmp_path_factory.mktemp("goods")
    write_goods(folder / "all", names=("shapes",))
    return folder / "all"


def test_nothing_good_is_refused(goods, tmp_path):
    with reading_apart():
        for attack in ("series", "matrices", "models"):
            for good in goods_of(attack, goods):
                carry_out(Try(attack, good, ()), goods, tmp_path / "work")


def test_a_slice_of_the_attempts_finds_no_fault(goods, tmp_path, monkeypatch):
    monkeypatch.setattr(attacks, "models", lambda known=attacks.models: {"shapes": known()["shapes"]})
    with reading_apart(), memory_limit(fuzz.MEMORY_OF_FILES):
        for one in islice(fuzz.tries(20, goods, SLICE), N_TRIES):
            outcome = fuzz.judge(one, goods, tmp_path / "work")
            assert not outcome.fault, f"{one}: {outcome.text}"


def test_attempts_are_those_of_their_seed(goods):
    first, again = (list(islice(fuzz.tries(3, goods, SLICE), 20)) for _ in range(2))
    assert first == again
    assert [parse_try(str(one).split()) for one in first] == first
    assert {one.attack for one in islice(fuzz.tries(3, goods, SLICE), 60)} == set(SLICE)


def test_a_traceback_is_a_fault_with_a_place(goods, tmp_path, monkeypatch):
    monkeypatch.setattr(attacks, "read_sequences", lambda path: 1 / 0)
    outcome = fuzz.judge(Try("series", "one.npy", (1,)), goods, tmp_path / "work")
    assert outcome.signature.startswith("ZeroDivisionError test_hardening.py:")


def test_an_answer_that_names_no_file_is_a_fault(goods, tmp_path, monkeypatch):
    def refuse(path):
        raise attacks.InputError("something is wrong")

    monkeypatch.setattr(attacks, "read_sequences", refuse)
    outcome = fuzz.judge(Try("series", "one.npy", (1,)), goods, tmp_path / "work")
    assert "not one line that names one.npy" in outcome.text


def test_a_model_whose_method_was_replaced_is_a_fault(goods, tmp_path, monkeypatch):
    def load(path):
        model = SPCMMixture()
        model.fit = 3
        return model

    monkeypatch.setattr(attacks.homothety, "load", load)
    outcome = fuzz.judge(Try("models", "shapes.homothety", ()), goods, tmp_path / "work")
    assert "the file has set ['fit']" in outcome.text


class Scripted:
    """A worker whose attempts fail as long as some seeds are among their changes."""

    def __init__(self, needed):
        self.needed = needed

    def give(self, one):
        self.one = one

    def outcome(self):
        return fuzz.Outcome("ValueError", "x.py:1") if self.needed <= set(self.one.seeds) else fuzz.Outcome()


@pytest.mark.parametrize("needed", [{4}, {2, 5}, {1, 2, 3, 4, 5}])
def test_attempts_are_cut_down_to_the_changes_that_matter(needed):
    one = fuzz.minimised(Try("series", "x", (1, 2, 3, 4, 5)), fuzz.Outcome("ValueError", "x.py:1"), Scripted(needed))
    assert set(one.seeds) == needed


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are ended by signals of POSIX")
def test_a_process_that_dies_or_hangs_is_a_fault_and_is_replaced(goods, tmp_path, monkeypatch):
    worker = fuzz.Worker(goods, tmp_path / "work")
    try:
        one = Try("series", "one.npy", ())
        worker.give(one)
        os.kill(worker._process.pid, 11)
        assert waited_for(worker).fault == "crash"
        worker.give(one)
        assert not waited_for(worker).fault
        monkeypatch.setattr(fuzz, "SECONDS_OF_PATIENCE", 0.0)
        os.kill(worker._process.pid, 19)
        worker.give(one)
        assert waited_for(worker).fault == "hang"
    finally:
        worker.close()


def waited_for(worker):
    while (outcome := worker.outcome()) is None:
        pass
    return outcome


@pytest.mark.parametrize("name", ["x.npz", "x.npy", "x.json", "x.csv", "x.mat", "position.zip", "sweeps-000000000.zip"])
def test_mutations_change_files_and_never_fail(goods, name, rng):
    found = [path for path in goods.rglob("*") if path.name == name or path.suffix == Path(name).suffix]
    content = sorted(found)[0].read_bytes()
    change = mutations.mutation_for(name)
    changed = [change(np.random.default_rng(seed), content) for seed in range(100)]
    assert sum(one != content for one in changed) > 60
    assert changed == [change(np.random.default_rng(seed), content) for seed in range(100)]
    for seed in range(100):  # what has been changed can be changed again
        content = change(np.random.default_rng(seed), content)


OTHERS = [(1, ""), (2, ""), (2, "Traceback"), (-11, ""), (2, "homothety: a\nhomothety: b")]


@pytest.mark.parametrize(("status", "err"), OTHERS)
def test_answers_of_other_kinds_are_harm(status, err):
    with pytest.raises(HarmError, match=r"exit status|not one line"):
        _check_answer(status, err, (0, 2))
    _check_answer(2, "Note: something\nhomothety: the disk is full", (0, 2))


def test_soaking_compares_states_with_their_bytes(monkeypatch):
    chain = chain_of(SPCMMixture(random_state=0), make_toy_6d(0, n_per_class=2).matrices)
    assert run("x", chain, 3).n_checks == 1
    monkeypatch.setattr("hardening.soak.restore", lambda seed, captured: np.random.default_rng(1))
    with pytest.raises(AssertionError, match="another sweep from the bytes of the state"):
        run("x", chain, 3)
