"""The app's requests are told to whom the client's stories are told."""

from gateway_client_tests.contract.conftest import (
    harness,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_generate_tests,
    pytest_runtest_makereport,
    ssl_context,
)

__all__ = [
    "harness",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_runtest_makereport",
    "ssl_context",
]
