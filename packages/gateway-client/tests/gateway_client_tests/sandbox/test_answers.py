"""How the gateway says no: credentials, unknown paths, wrong verbs, bodies that are no JSON."""

from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr

from gateway_client.sandbox.settings import PointOfSale
from gateway_client_tests.sandbox.harness import NO_CARD, POS, Harness, open_harness, read_json
from integration_base_tests.clock import Clock

ORDERS = f"/api/v1/pos/{POS.pos_id}/orders"


async def test_the_credential_check_finds_no_order_and_that_is_well(harness: Harness) -> None:
    assert read_json(await harness.merchant.look("0"), 404) == {
        "message": "Payment not found",
        "args": {"code": "P-404"},
    }
    await harness.control.options(unknown_order="empty")
    assert read_json(await harness.merchant.look("0")) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-auth": ""},
        {"x-api-auth": "CPAY sandbox-api-key:wrong"},
        {"x-api-auth": "CPAY wrong:sandbox-api-secret"},
        {"x-api-auth": "cpay sandbox-api-key:sandbox-api-secret"},
        {"x-api-auth": "OTHER sandbox-api-key:sandbox-api-secret"},
        {"x-api-key": ""},
        {"x-api-key": "ключ"},
    ],
)
async def test_wrong_credentials(harness: Harness, headers: dict[str, str]) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    answer = await harness.merchant.http.get(f"{ORDERS}/0", headers=raw)
    assert read_json(answer, 401) == {"message": "Invalid pos_id field or credentials", "args": {"code": "S-404"}}


@pytest.mark.parametrize("pos_id", ["not-a-uuid", "00000000-0000-0000-0000-000000000000", str(UUID(int=7))])
async def test_a_point_of_sale_that_is_not_ours(harness: Harness, pos_id: str) -> None:
    answer = await harness.merchant.http.get(f"/api/v1/pos/{pos_id}/orders/0")
    assert read_json(answer, 401)["args"]["code"] == "S-404"
    body = harness.merchant.direct_body("a") | {"pos_id": pos_id}
    assert (await harness.merchant.post("/api/v1/payment", body)).status_code == 401


async def test_a_white_label_with_other_words(clock: Clock) -> None:
    async with open_harness(clock, scheme_word="LABEL") as harness:
        await harness.control.options(credentials_code="S-403", credentials_http_status=403)
        assert read_json(await harness.merchant.look("0"), 403)["args"]["code"] == "S-403"
        headers = {"x-api-auth": "LABEL sandbox-api-key:sandbox-api-secret"}
        assert (await harness.merchant.http.get(f"{ORDERS}/0", headers=headers)).status_code == 404


async def test_points_of_sale_keep_apart(clock: Clock) -> None:
    other = PointOfSale(
        pos_id=UUID(int=2),
        api_key="other",
        api_secret=SecretStr("other-secret"),
        endpoints_key=SecretStr("other-key"),
    )
    async with open_harness(clock, points_of_sale=(POS, other)) as harness:
        headers = {"x-api-auth": "CPAY other:other-secret", "x-api-key": "other-key"}
        token = read_json(await harness.merchant.pay_direct("same"))["cc_token"]
        assert (await harness.merchant.http.get(f"{ORDERS}/same", headers=headers)).status_code == 401
        theirs = f"/api/v1/pos/{other.pos_id}/orders/same"
        assert (await harness.merchant.http.get(theirs, headers=headers)).status_code == 404
        # The same order id is nobody's duplicate there.
        body = harness.merchant.direct_body("same") | {"pos_id": str(other.pos_id)}
        answer = await harness.merchant.http.post("/api/v1/payment", json=body | {"amount": 100}, headers=headers)
        assert read_json(answer)["status_code"] == "1000"
        # A token is good only where it was given.
        no_card = {name: value for name, value in body.items() if name not in NO_CARD}
        stolen = no_card | {"amount": 100, "order_id": "stolen", "cc_token": token}
        answer = await harness.merchant.http.post("/api/v1/payment", json=stolen, headers=headers)
        assert read_json(answer)["status_code"] == "4144"


@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("GET", "/api/v1/nothing", {}, 404),
        ("GET", "/api/v1/payment", {}, 405),
        ("POST", f"{ORDERS}/0", {"json": {}}, 405),
        ("POST", "/api/v1/payment", {"data": {"pos_id": "a"}}, 406),
        ("POST", "/api/v1/payment", {"content": b"{", "headers": {"content-type": "application/json"}}, 406),
        ("POST", "/api/v1/payment", {"json": [1]}, 406),
        ("POST", "/api/v1/payment", {"json": {}}, 401),
    ],
)
async def test_what_is_no_call_of_the_interface(
    harness: Harness, method: str, path: str, sent: dict[str, Any], status: int
) -> None:
    refused = read_json(await harness.merchant.http.request(method, path, **sent), status)
    assert refused.keys() == {"message", "args"}
    assert refused["args"].keys() == {"code"}
    # Only wrong credentials have the code of wrong credentials.
    assert (refused["args"]["code"] == "S-404") is (status == 401)


async def test_a_duplicate_by_another_status(harness: Harness) -> None:
    await harness.control.options(duplicate_http_status=409)
    await harness.merchant.pay_hosted("twice")
    assert read_json(await harness.merchant.pay_hosted("twice"), 409)["args"]["code"] == "P-409"


async def test_one_operation_as_an_object_or_an_array(harness: Harness) -> None:
    await harness.merchant.pay_direct("mugs")
    assert read_json(await harness.merchant.look("mugs", "purchase"))["order_id"] == "mugs"
    await harness.control.options(one_operation_answer="array")
    assert len(read_json(await harness.merchant.look("mugs", "purchase"))) == 1
    assert (await harness.merchant.look("mugs", "void")).status_code == 404


async def test_it_is_healthy(harness: Harness) -> None:
    assert (await harness.merchant.http.get("/health")).text == "OK"
