"""An app tells its problems: the SDK's own calls, at a Saleor over HTTP."""

import pytest
from pydantic import ValidationError

from saleor_app_sdk.errors import SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.problems import AppProblem, dismiss_problems, report_problem, supports_problems
from saleor_app_sdk.testing import FakeSaleor
from saleor_app_sdk_tests.fake_saleor import Row
from saleor_app_sdk_tests.testing.test_orders import client, store

__all__ = ["client", "store"]

KEYS = AppProblem(key="keys:1", message="The gateway refuses the keys.", critical=True)
OTHER = AppProblem(key="unmatched:1", message="Orders that nobody knows.")


async def test_problems_are_shown_until_they_are_dismissed(
    client: SaleorClient, store: Row, saleor: FakeSaleor
) -> None:
    for app_problem in (KEYS, OTHER, OTHER):
        await report_problem(client, store, app_problem)
    (app,) = await saleor.apps()
    assert [(problem["key"], problem["count"], problem["isCritical"]) for problem in app.problems] == [
        ("unmatched:1", 2, False),
        ("keys:1", 1, True),
    ]
    await dismiss_problems(client, store, ["keys:1", "never told"])
    (app,) = await saleor.apps()
    assert [problem["key"] for problem in app.problems] == ["unmatched:1"]


async def test_what_saleor_does_not_take(client: SaleorClient, store: Row, saleor: FakeSaleor) -> None:
    with pytest.raises(SaleorRefusedError, match="INVALID"):
        await dismiss_problems(client, store, ["x"] * 101)
    with pytest.raises(SaleorRefusedError, match="REQUIRED"):
        await dismiss_problems(client, store, [])
    await saleor.set_faults(graphql_internal_error=True)
    with pytest.raises(SaleorUnreachableError):
        await report_problem(client, store, KEYS)
    await saleor.set_faults()
    dead = Row(store.saleor_api_url, schema_version="3.23", app_id=store.app_id, token="dead")
    with pytest.raises(SaleorNotAuthorisedError):
        await report_problem(client, dead, KEYS)


def test_only_from_3_22_36_on() -> None:
    """Of a Saleor that is only known to be a 3.22 nobody knows: it is asked, and may refuse."""
    versions = {"3.21": False, "3.21.99": False, "3.22": True, "3.23": True, "3.23.0": True, None: False}
    versions |= {"3.22.35": False, "3.22.36": True, "3.22.67": True, "4.0": True, "nonsense": False}
    for version, knows in versions.items():
        row = Row("https://shop.example.com/graphql/", schema_version=version)
        assert supports_problems(row) is knows


def test_what_saleor_would_refuse_cannot_be_said() -> None:
    for key, message in (("ab", "message"), ("k" * 129, "message"), ("key", "no")):
        with pytest.raises(ValidationError):
            AppProblem(key=key, message=message)
    assert len(AppProblem(key="key", message="m" * 9999).graphql_input()["message"]) == 2048
