"""The command that compiles beforehand."""

from __future__ import annotations

import json

from homothety.cli import main


def test_a_run_after_it_compiles_nothing(tmp_path, capsys):
    assert main(["warm-up", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"] > 0
    from homothety.compilation import heard_by
    from homothety.datasets import make_demonstrations
    from homothety.estimators.action_hmm import ActionHMM

    told = []
    with heard_by(told.append):
        ActionHMM(random_state=1, n_chains=2, n_sweeps=10).fit(make_demonstrations(1, n_per_frame=2))
    assert told == []
