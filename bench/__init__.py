"""Measurements: run with ``make bench``. They print figures and assert nothing about time."""

import tests  # noqa: F401 - makes what the packages' tests share importable
