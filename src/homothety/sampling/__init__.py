"""Running Markov chains, whatever the model: driver, trace, several chains."""

from homothety.sampling.driver import iterate, run_chain, run_chains
from homothety.sampling.trace import Trace

__all__ = ["Trace", "iterate", "run_chain", "run_chains"]
