"""Measurements: run with ``make bench``. They print figures and assert nothing about time."""
