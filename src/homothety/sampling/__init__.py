"""Running Markov chains, whatever the model: driver, trace, recorders, checkpoints, diagnostics."""

from homothety.sampling.checkpoint import Checkpoints
from homothety.sampling.codec import storable
from homothety.sampling.driver import Chain, Recording, Rounds, iterate, run_chain, run_chains
from homothety.sampling.recorders import (
    ProgressBar,
    ProgressLines,
    Recorder,
    StopWhen,
    StopWhenStuck,
    Visit,
)
from homothety.sampling.trace import Trace

__all__ = [
    "Chain",
    "Checkpoints",
    "ProgressBar",
    "ProgressLines",
    "Recorder",
    "Recording",
    "Rounds",
    "StopWhen",
    "StopWhenStuck",
    "Trace",
    "Visit",
    "iterate",
    "run_chain",
    "run_chains",
    "storable",
]
