"""A storefront with the buttons of Apple Pay and Google Pay, and played wallets; and a search for data left behind."""

import base64
import json
from pathlib import Path
from typing import Any

from sqlalchemy import make_url, text
from sqlmodel import SQLModel

from app.bootstrap import open_services
from app.store.database import is_sqlite
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import SessionView
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.stack import Stack
from tests.journeys.stories import BACK
from tests.payments.cards.seals import BROWSER, seal
from tests.secrets.hunt import Secret, find_secrets

GATEWAY_AT_GOOGLE = {"google_pay_gateway": "sandbox", "google_pay_gateway_merchant": "m-17"}
SEALED_BY_APPLE, SEALED_BY_GOOGLE = "sealed-by-Apple-0d9f47c1", "sealed-by-Google-7be25a08"


def apple_pays(code: str = "1000") -> dict[str, Any]:
    """Return what Apple's sheet gives; ``code`` is how the played payment ends (docs/sandbox.md)."""
    header = {"ephemeralPublicKey": "MFkwEwYH", "publicKeyHash": "tqYV", "transactionId": "1a2b"}
    sealed = f"{SEALED_BY_APPLE}-sandbox:{code}"
    data = {"version": "EC_v1", "data": sealed, "signature": "MIAGCSqG", "header": header}
    method = {"displayName": "Visa 4242", "network": "Visa", "type": "debit"}
    return {"applePay": {"paymentData": data, "paymentMethod": method, "transactionIdentifier": "1A2B"}}


def google_pays(code: str = "1000") -> dict[str, Any]:
    """Return what Google's sheet gives."""
    sealed = {"protocolVersion": "ECv2", "signature": "MEYCIQCa", "signedMessage": f"{SEALED_BY_GOOGLE}-sandbox:{code}"}
    return {"googlePay": json.dumps(sealed)}


async def offer_wallets(shop: Stack, **columns: Any) -> None:
    """Switch both on, as the store owner."""
    async with open_services(shop.settings) as services:
        [account] = await services.accounts.all()
        switched_on = {"apple_pay": True, "google_pay": True, **GATEWAY_AT_GOOGLE}
        await services.accounts.change(account.id, **switched_on | columns)

    async def offered() -> bool:
        offer = await shop.saleor.gateway_initialize((await shop.saleor.create_checkout()).id)
        return "wallets" in offer.data  # the app remembers the account for a moment

    await eventually(offered)


async def pay(
    shop: Stack, given: dict[str, Any], action: Flow = Flow.CHARGE, checkout_id: str | None = None
) -> tuple[str, SessionView]:
    """Pay with what a wallet gave, for a new basket (or that checkout); return it and the session."""
    if checkout_id is None:
        checkout_id = (await shop.saleor.create_checkout()).id
    offer = await shop.saleor.gateway_initialize(checkout_id)
    sealed = seal({**given, "for": checkout_id}, offer.data["wallets"]["key"]["jwk"])
    data = {**BACK, "card": sealed, "browserFingerprint": BROWSER}
    session = await shop.saleor.initialize(checkout_id, action=action, data=data, customer_ip="203.0.113.7")
    assert session.event is not None, session
    return checkout_id, session


async def assert_no_wallet_data_left(shop: Stack) -> None:
    """Check that log, database and Saleor contain neither the wallets' payloads nor the gateway's tokens of them."""
    secrets: list[Any] = [Secret("Apple's", SEALED_BY_APPLE), Secret("Google's", SEALED_BY_GOOGLE)]
    tokens = {payment.cc_token for payment in await shop.gateway.payments() if payment.cc_token}
    assert all(token.startswith("rcr:") for token in tokens)
    secrets += [Secret("the gateway's token", token) for token in tokens]
    places = {"app.log": shop.app.log.read_bytes(), **await _rows(shop)}
    if is_sqlite(shop.settings.database):  # the files as they are, with what was deleted from them
        file = Path(make_url(shop.settings.database).database or "")
        places |= {path.name: path.read_bytes() for path in file.parent.glob(f"{file.name}*")}
    assert places["app.log"]
    places["saleor"] = "\n".join(
        f"{delivery.body} {delivery.answer}" for delivery in await shop.saleor.deliveries()
    ).encode()
    places["reports"] = str(await shop.saleor.reports()).encode()
    found = find_secrets(secrets, places)
    assert not found, found
    # Twice in Base64 is a form that the search does not know.
    for given in (apple_pays()["applePay"], google_pays()["googlePay"]):
        told = given if isinstance(given, str) else json.dumps(given, separators=(",", ":"))
        beginning = base64.b64encode(told.encode())[:32]
        assert not [name for name, content in places.items() if beginning in content]


async def _rows(shop: Stack) -> dict[str, bytes]:
    found = {}
    async with open_services(shop.settings) as services, services.database.transaction() as session:
        connection = await session.connection()
        for table in SQLModel.metadata.sorted_tables:
            rows = (await connection.execute(text(f"SELECT * FROM {table.name}"))).all()  # noqa: S608 - names of our own
            found[table.name] = str(rows).encode()
    return found
