"""Where the checkout is, and in it the packages' source code."""

from pathlib import Path

REPOSITORY = Path(__file__).parents[4]
PACKAGES = ("integration-base", "saleor-app-sdk", "gateway-client")
INTEGRATION_BASE, SALEOR_APP_SDK, GATEWAY_CLIENT = (
    REPOSITORY / "packages" / name / name.replace("-", "_") for name in PACKAGES
)
"""The folders that are imported."""
