"""Attack the library: ``python -m hardening fuzz``, ``chaos`` or ``soak``. Exit status 1 if a fault was found."""

from __future__ import annotations

import argparse
import sys
import time


def main() -> int:
    """Carry out what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m hardening", description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    fuzzing = kinds.add_parser("fuzz", help="damaged files and hostile arrays")
    fuzzing.add_argument("--tries", type=int, default=10_000)
    fuzzing.add_argument("--seconds", type=float, default=3600.0)
    fuzzing.add_argument("--seed", type=int, default=None, help="of all attempts (default: the time)")
    fuzzing.add_argument("--jobs", type=int, default=2)
    fuzzing.add_argument("--only", nargs="*", default=(), metavar="ATTACK")
    fuzzing.add_argument("--again", metavar="TRY", help="one attempt, as a report names it")
    harming = kinds.add_parser("chaos", help="kills, full disks, two processes in one folder")
    harming.add_argument("--attempts", type=int, default=200)
    harming.add_argument("--seed", type=int, default=None, help="of all attempts (default: the time)")
    harming.add_argument("--only", default="", metavar="HARM")
    soaking = kinds.add_parser("soak", help="very many sweeps")
    soaking.add_argument("--sweeps", type=int, default=100_000)
    soaking.add_argument("--only", default="", metavar="CHAIN")
    args = parser.parse_args()
    if args.kind == "soak":
        from hardening.soak import soak

        return int(soak(args.sweeps, args.only) > 0)
    seed = int(time.time()) if args.seed is None else args.seed
    if args.kind == "chaos":
        from hardening.chaos import chaos

        return int(chaos(args.attempts, seed, args.only) > 0)
    from hardening import fuzz

    if args.again:
        outcome = fuzz.again(args.again)
        print(outcome.text or "nothing wrong")
        return int(bool(outcome.fault))
    return int(fuzz.fuzz(args.tries, args.seconds, seed, args.jobs, args.only) > 0)


if __name__ == "__main__":
    sys.exit(main())
