"""Where mutants are made, and which tests are asked."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent

ROOMS = ("app/core", "app/rules", "app/flows", "app/store", "app/worker")
"""What moves money."""

TESTS = (
    "tests/payments",
    "tests/db",
    "tests/worker",
    "tests/shopper/test_router.py",
    "tests/commands",
    "tests/dashboard",
)
"""What is asked: stories of one process. Browsers, several processes and made-up stories would take too long."""

LEFT_OUT = "not browser and not long"
"""The marks of tests that are in these folders and are not asked."""
