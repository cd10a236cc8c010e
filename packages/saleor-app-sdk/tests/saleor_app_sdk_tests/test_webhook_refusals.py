"""Webhooks that are not acted upon. Unverified ones hear 401 and nothing else; verified ones a 4xx, never a 5xx."""

import json
from typing import Any

import pytest

from integration_base_tests.clock import Clock
from saleor_app_sdk_tests.fake_saleor import API_URL, InMemoryStore, Row, initialize_body, refund_body, signing_key
from saleor_app_sdk_tests.served_app import AppClient


@pytest.fixture(autouse=True)
def _nothing_was_done(app_client: AppClient) -> Any:
    """Whatever is refused in this file must not have reached a handler."""
    yield
    assert app_client.handlers.events == []


async def unverified(
    app_client: AppClient, code: str, said: dict[str, Any] | bytes | None = None, **headers: str | None
) -> None:
    answer = await app_client.deliver(refund_body() if said is None else said, **headers)
    assert answer.status_code == 401
    assert answer.json() == {"error": {"code": code, "message": answer.json()["error"]["message"]}}


@pytest.mark.threat("forged-webhook")
async def test_a_saleor_that_did_not_install_us(app_client: AppClient) -> None:
    await unverified(app_client, "BAD_SIGNATURE")


@pytest.mark.threat("enumeration")
async def test_nobody_learns_from_an_answer_who_uses_the_app(app_client: AppClient, installed: Row) -> None:
    """Whoever tries addresses out hears the same of a Saleor that installed us, and of one that did not."""
    stranger = signing_key("second")
    body = refund_body()
    said = json.dumps(body).encode()
    answers = {
        (answer.status_code, answer.content)
        for address in (API_URL, "https://other.example.com/graphql/")
        for signature in (stranger.sign(said), stranger.sign(said, kid="first"), "garbage", stranger.sign(b"other"))
        for answer in [await app_client.deliver(said, Saleor_Api_Url=address, Saleor_Signature=signature)]
    }
    assert len(answers) == 1, answers


@pytest.mark.threat("forged-webhook")
async def test_no_signature(app_client: AppClient, installed: Row) -> None:
    await unverified(app_client, "MISSING_SIGNATURE", Saleor_Signature=None)
    await unverified(app_client, "MISSING_SIGNATURE", Saleor_Signature="")


@pytest.mark.parametrize(
    "address", [None, "", "shop.example.com", "https://shop.example.com/graphql", "file:///graphql/"]
)
async def test_no_saleor(app_client: AppClient, installed: Row, address: str | None) -> None:
    await unverified(app_client, "MISSING_SALEOR_API_URL", Saleor_Api_Url=address)


@pytest.mark.threat("forged-webhook", "tampered-amount")
async def test_a_body_that_was_changed_on_the_way(app_client: AppClient, installed: Row) -> None:
    cheap = app_client.saleor.key.sign(b'{"amount": 1}')
    await unverified(app_client, "BAD_SIGNATURE", b'{"amount": 100}', Saleor_Signature=cheap)


@pytest.mark.threat("forged-webhook")
async def test_a_body_is_not_even_parsed_before_it_is_verified(app_client: AppClient, installed: Row) -> None:
    """Unreadable JSON hears the same as anything unsigned: there is nothing to learn from the answer."""
    other = signing_key("second").sign(b"{", kid="first")
    await unverified(app_client, "BAD_SIGNATURE", b"{", Saleor_Signature=other)


@pytest.mark.threat("webhook-of-another-store")
async def test_another_saleor_of_ours_speaks_in_the_name_of_this_one(
    app_client: AppClient, installed: Row, store: InMemoryStore
) -> None:
    other_key = signing_key("second")
    store.put(
        Row("https://other.example.com/graphql/", app_id="QXBwOjE=", token="x", jwks={"keys": [other_key.public]})
    )
    body = b"{}"
    await unverified(app_client, "BAD_SIGNATURE", body, Saleor_Signature=other_key.sign(body), Saleor_Api_Url=API_URL)


MEBIBYTE = 1024 * 1024


def padded(body: dict[str, Any], size: int) -> bytes:
    said = json.dumps(body).encode()
    return said[:-1] + b" " * (size - len(said)) + b"}"


@pytest.mark.threat("huge-body")
@pytest.mark.parametrize("event", ["payment_gateway_initialize_session", "transaction_refund_requested"])
async def test_a_byte_more_than_is_read(app_client: AppClient, installed: Row, event: str) -> None:
    longest = b" " * (8 * MEBIBYTE - 2) + b"{}"
    read = await app_client.deliver(longest, event)
    assert (read.status_code, read.json()["error"]["code"]) == (400, "WRONG_EVENT")
    refused = await app_client.deliver(b" " + longest, event)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "TOO_LONG")


@pytest.mark.law(17)
@pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
async def test_what_could_not_be_given_back_is_not_begun_and_the_app_is_told(
    app_client: AppClient, installed: Row, flow: str
) -> None:
    """A refund names the basket's lines up to four times: a longer one would not be read."""
    body = initialize_body(action={"amount": 10, "currency": "UAH", "actionType": flow})
    answer = await app_client.deliver(padded(body, 2 * MEBIBYTE + 1), "transaction_initialize_session")
    assert (answer.status_code, answer.json()["result"]) == (200, f"{flow}_FAILURE")
    assert answer.json()["data"]["errors"] == [{"code": "TOO_LONG", "message": answer.json()["message"]}]
    assert "too much in this order" in answer.json()["message"]
    assert app_client.handlers.refusals == [(API_URL, "TOO_LONG")]


async def refused(
    app_client: AppClient, code: str, said: dict[str, Any] | bytes, status: int = 400, **headers: str | None
) -> None:
    """A requested action: Saleor reads the body whatever the status, so it holds a failure that staff can read."""
    answer = await app_client.deliver(said, **headers)
    assert answer.status_code == status
    told = answer.json()
    assert told["error"]["code"] == code
    assert told["result"] == "REFUND_FAILURE"
    assert told["message"] == told["error"]["message"]
    assert told["pspReference"].startswith("app-")


async def test_saleors_own_retry_after_a_5xx_is_empty_but_well_signed(app_client: AppClient, installed: Row) -> None:
    await refused(app_client, "EMPTY_BODY", b"")


@pytest.mark.parametrize(
    "nonsense", [b"{", b"[]", b"null", b'"x"', b"\xff", b"NaN", b'{"a": Infinity}', b"[" * 100_000]
)
async def test_signed_nonsense(app_client: AppClient, installed: Row, nonsense: bytes) -> None:
    await refused(app_client, "UNREADABLE", nonsense)


@pytest.mark.threat("webhook-for-another-purpose")
async def test_another_event_under_this_address(app_client: AppClient, installed: Row) -> None:
    await refused(app_client, "WRONG_EVENT", refund_body(), Saleor_Event="transaction_charge_requested")
    await refused(app_client, "WRONG_EVENT", refund_body(), Saleor_Event=None)


@pytest.mark.threat("webhook-for-another-purpose")
async def test_the_header_is_not_signed_so_the_body_must_name_the_event_too(
    app_client: AppClient, installed: Row
) -> None:
    """A recorded cancelation would otherwise do for a refund."""
    await refused(app_client, "WRONG_EVENT", refund_body(__typename="TransactionCancelationRequested"))
    await refused(
        app_client, "WRONG_EVENT", {name: part for name, part in refund_body().items() if name != "__typename"}
    )


@pytest.mark.parametrize("lost", ["transaction", "action", "recipient", "issuedAt"])
async def test_a_part_that_saleor_could_not_resolve_and_that_we_need(
    app_client: AppClient, installed: Row, lost: str
) -> None:
    said = refund_body(**{lost: None}, errors=[{"message": "no"}])
    await refused(app_client, "UNREADABLE", said)


@pytest.mark.threat("words-in-errors")
async def test_the_refusal_names_the_part_and_not_what_stood_in_it(app_client: AppClient, installed: Row) -> None:
    said = refund_body(action={"actionType": "secret-word", "amount": 1, "currency": "UAH"})
    answer = await app_client.deliver(said)
    assert "action.actionType" in answer.text
    assert "secret-word" not in answer.text


@pytest.mark.threat("webhook-for-another-purpose")
@pytest.mark.parametrize(
    "recipient", [{"id": "QXBwOjI=", "identifier": "somebody.else"}, {"id": "QXBwOjI=", "identifier": None}]
)
async def test_another_app_of_the_same_saleor(app_client: AppClient, installed: Row, recipient: dict[str, str]) -> None:
    await refused(app_client, "WRONG_RECIPIENT", refund_body(recipient=recipient), 403)


@pytest.mark.threat("webhook-for-another-purpose", "replayed-webhook")
async def test_an_earlier_installation_of_ours(app_client: AppClient, installed: Row) -> None:
    said = refund_body(recipient={"id": "QXBwOjA=", "identifier": "gateway.payments.app"})
    await refused(app_client, "WRONG_RECIPIENT", said, 403)


@pytest.mark.threat("replayed-webhook")
async def test_one_that_was_recorded_and_is_played_again_later(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    clock.forward(minutes=60, seconds=1)
    await refused(app_client, "TOO_OLD", refund_body())


@pytest.mark.threat("replayed-webhook")
async def test_one_from_the_future(app_client: AppClient, installed: Row, clock: Clock) -> None:
    clock.forward(minutes=-5, seconds=-1)
    await refused(app_client, "FROM_THE_FUTURE", refund_body())


async def test_a_moment_without_a_zone_is_no_moment(app_client: AppClient, installed: Row) -> None:
    await refused(app_client, "UNREADABLE", refund_body(issuedAt="2026-11-21T13:00:00"))


async def test_who_wants_to_know_is_told_what_saleor_has_signed_and_nobody_reads(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    await app_client.deliver(refund_body(), Saleor_Signature="garbage")
    assert app_client.handlers.refusals == [], "anybody can send that"
    await app_client.deliver(b"[]")
    clock.forward(minutes=60, seconds=1)
    await app_client.deliver(refund_body())
    assert app_client.handlers.refusals == [(API_URL, "UNREADABLE"), (API_URL, "TOO_OLD")]


async def test_who_fails_when_told_changes_no_answer(app_client: AppClient, installed: Row) -> None:
    app_client.handlers.refusal_error = ValueError("words of a customer")
    await refused(app_client, "UNREADABLE", refund_body(recipient=None))
    assert len(app_client.handlers.refusals) == 1


async def test_in_a_session_a_refusal_is_nothing_but_a_refusal(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    """Saleor then makes a failure of its own, which does not end the transaction: the shopper can try again."""
    clock.forward(hours=2)
    answer = await app_client.deliver(initialize_body(), "transaction_initialize_session")
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]


async def test_a_store_that_is_down(app_client: AppClient, installed: Row, store: InMemoryStore) -> None:
    store.broken = True
    answer = await app_client.deliver(refund_body())
    assert answer.status_code == 400
    assert answer.json()["result"] == "REFUND_FAILURE"
    assert "disk" not in answer.text


async def test_webhooks_are_posted_and_nothing_else(app_client: AppClient) -> None:
    answer = await app_client.client.get("/api/webhooks/transaction-refund-requested")
    assert answer.status_code == 405
