"""What a real Saleor sent goes through the running app: its signature checked, its answer one that Saleor accepts.

All recorded webhooks are played in the order in which they were sent, each at the moment at which it was issued,
against the app with a database and a gateway that answers over a socket.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from app.bootstrap import open_services
from app.main import create_app
from app.settings import Settings
from app.store.accounts import AccountKeys, AccountRepository, NewAccount
from app.store.turned_away import RECENT
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import PointOfSale, SandboxSettings
from integration_base_tests.clock import Clock
from saleor_app_sdk.testing.rules.responses import AsyncActionResponse, parse_action_response, parse_session_response
from saleor_app_sdk.testing.vocabulary import Action
from saleor_app_sdk_tests.recordings import API_URL, APP_ID, IDENTIFIER, JWKS, Recorded, webhooks

RECORDED = webhooks()
ACTIONS = {
    "transaction_charge_requested": Action.CHARGE,
    "transaction_refund_requested": Action.REFUND,
    "transaction_cancelation_requested": Action.CANCEL,
}


@asynccontextmanager
async def shop(database_url: str, folder: Path, clock: Clock) -> AsyncIterator[httpx2.AsyncClient]:
    """The app as the recorded Saleor had installed it, with an account at the sandbox for its only channel."""
    settings = Settings(id=IDENTIFIER, data_dir=folder / "data", database_url=database_url, worker=False)
    point = PointOfSale()
    async with running_sandbox(SandboxSettings(port=0)) as (gateway, _), open_services(settings, clock) as services:
        await services.installations.save(
            saleor_api_url=API_URL,
            saleor_domain="127.0.0.1:8000",
            schema_version="3.23",
            app_id=APP_ID,
            token="token-of-the-recordings",
            jwks=JWKS,
        )
        installation = await services.installations.find(API_URL)
        assert installation is not None
        await _open_account(services.accounts, installation.id, point, gateway)
        app = create_app(settings, clock)
        transport = httpx2.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://app.test") as client,
        ):
            yield client


async def _open_account(accounts: AccountRepository, installation_id: int, point: PointOfSale, gateway: str) -> None:
    account = await accounts.add(
        NewAccount(
            installation_id=installation_id,
            name=point.name,
            pos_id=str(point.pos_id),
            base_url=gateway,
            scheme_word="CPAY",
            keys=AccountKeys(
                api_key=point.api_key,
                api_secret=point.api_secret.get_secret_value(),
                endpoints_key=point.endpoints_key.get_secret_value(),
            ),
            currencies=["UAH"],
            storefront_origins=["https://shop.test"],
        )
    )
    await accounts.map_channel("uah", account.id)


def issued_at(recorded: Recorded) -> datetime | None:
    return datetime.fromisoformat(json.loads(recorded.body)["issuedAt"]) if recorded.body else None


async def test_every_recorded_webhook_gets_an_answer_that_saleor_accepts(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    results: dict[str, int] = {}
    async with shop(database_url, tmp_path, clock) as app:
        for recorded in RECORDED:
            clock.now = (issued_at(recorded) or clock.now) + timedelta(milliseconds=50)
            answer = await app.post(recorded.path, content=recorded.body, headers=recorded.headers)
            if not recorded.body:
                assert answer.status_code == 400, f"{recorded}: nothing can be made of an empty retry"
                continue
            # Saleor could not say which transaction it means, and said so. It reads the failure whatever the status.
            poisoned = json.loads(recorded.body).get("transaction", "") is None
            assert answer.status_code == (400 if poisoned else 200), f"{recorded}: {answer.text}"
            assert answer.headers["content-type"] == "application/json"
            said = answer.json()
            if recorded.event == "payment_gateway_initialize_session":
                assert said["data"]["available"] is True
                result = "offered"
            elif recorded.event in ACTIONS:
                read = parse_action_response(said, ACTIONS[recorded.event])
                assert read.psp_reference
                result = "pending" if isinstance(read, AsyncActionResponse) else str(read.result)
            else:
                session = parse_session_response(said)
                assert session.psp_reference
                result = str(session.result)
            results[result] = results.get(result, 0) + 1
    # Every recorded storefront that could be sent to the payment page was; what could not be done was refused in words.
    assert results["offered"] == 1
    assert results["CHARGE_ACTION_REQUIRED"] >= 3
    assert results["AUTHORIZATION_ACTION_REQUIRED"] >= 2
    assert results["CANCEL_SUCCESS"] == 1


@pytest.mark.threat("forged-webhook")
@pytest.mark.parametrize("event", sorted({recording.event for recording in RECORDED}))
async def test_one_flipped_bit_is_refused_and_leaves_no_trace(
    event: str, database_url: str, tmp_path: Path, clock: Clock
) -> None:
    recorded = next(recording for recording in RECORDED if recording.event == event and recording.body)
    moment = issued_at(recorded)
    assert moment is not None
    clock.now = moment
    body = bytearray(recorded.body)
    body[len(body) // 2] ^= 1
    head, _, signature = recorded.headers["saleor-signature"].partition("..")
    middle = len(signature) // 2
    other = "A" if signature[middle] != "A" else "B"
    forged = f"{head}..{signature[:middle]}{other}{signature[middle + 1 :]}"
    async with shop(database_url, tmp_path, clock) as app:
        for content, headers in (
            (bytes(body), recorded.headers),
            (recorded.body, recorded.headers | {"saleor-signature": forged}),
        ):
            answer = await app.post(recorded.path, content=content, headers=headers)
            assert answer.status_code == 401
            assert set(answer.json()) == {"error"}


@pytest.mark.law(17)
async def test_a_clock_that_is_hours_ahead_turns_every_shopper_away_and_that_is_seen(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    begun = next(recorded for recorded in RECORDED if recorded.event == "transaction_initialize_session")
    async with shop(database_url, tmp_path, clock) as app:
        clock.now = (issued_at(begun) or clock.now) + timedelta(hours=2)
        for _ in range(RECENT):
            answer = await app.post(begun.path, content=begun.body, headers=begun.headers)
            assert answer.json()["error"]["code"] == "TOO_OLD"
        said = (await app.get("/readyz")).json()
        assert (said["status"], said["why"]) == (
            "degraded", "shoppers are turned away and none gets through, channels: 1",
        )  # fmt: skip
