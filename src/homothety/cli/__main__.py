"""Run as ``python -m homothety.cli``."""

import sys

from homothety.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
