"""Where mutants are made, and which tests are asked."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent

ROOMS = (
    *("app/core", "app/rules", "app/flows", "app/store", "app/worker"),  # what moves money
    *("app/reports/money.py", "app/reports/money_rows.py", "app/reports/sheet.py"),  # what counts it
    "packages/integration-base/integration_base/amounts.py",
    "packages/gateway-client/gateway_client/signature.py",  # what lets people in
    *(
        f"packages/saleor-app-sdk/saleor_app_sdk/{name}.py"
        for name in ("signature", "jwks", "dashboard_token", "pending_tokens")
    ),
)
"""Folders and modules: what moves money, counts it, and lets people in."""

TESTS = (
    "tests/payments",
    "tests/db",
    "tests/worker",
    "tests/shopper/test_router.py",
    "tests/commands",
    "tests/dashboard",
    "tests/outbound/test_connection_failures.py",
    "packages/integration-base/tests/integration_base_tests/test_amounts.py",
    *(
        f"packages/gateway-client/tests/gateway_client_tests/test_{name}.py"
        for name in ("notification", "laws", "library")
    ),
    *(
        f"packages/saleor-app-sdk/tests/saleor_app_sdk_tests/test_{name}.py"
        for name in ("signature", "jwks", "dashboard_token", "pending_installation", "webhooks", "recorded_signatures")
    ),
)
"""What is asked: stories of one process. Browsers, several processes and made-up stories would take too long."""


def modules_of(room: str) -> list[Path]:
    """Return the modules of a room, by their paths in the repository."""
    place = REPOSITORY / room
    found = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return [path.relative_to(REPOSITORY) for path in found if "migrations" not in path.parts]


def module_name(path: Path) -> str:
    """Return the name under which the module at that path in the repository is imported."""
    parts = path.with_suffix("").parts
    return ".".join(parts[2:] if parts[0] == "packages" else parts)


LEFT_OUT = "not browser and not long"
"""The marks of tests that are in these folders and are not asked."""
