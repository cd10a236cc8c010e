"""Tests of the app and of all houses together; those of a package live with it, under an import name of their own."""

import sys
from pathlib import Path

sys.path.extend(str(path) for path in sorted(Path(__file__).parent.parent.glob("packages/*/tests")))
