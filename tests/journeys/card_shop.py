"""A storefront with a card form: what it requests, encrypts and sends; and a search for card data left behind."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import make_url, text
from sqlmodel import SQLModel

from app.bootstrap import open_services
from app.store.database import is_sqlite
from gateway_client.sandbox.core.cards import coded_card
from saleor_app_sdk.testing.views import SessionView
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.stack import Stack
from tests.journeys.stories import BACK
from tests.payments.cards.seals import BROWSER, seal
from tests.secrets.hunt import CardNumber, Secret, SecurityCode, find_secrets

GOOD = "5454545454545454"
CVV = "737"
ASKS_THE_SHOPPER = coded_card("2122")
NO_MONEY = coded_card("4009")


def typed(number: str = GOOD) -> dict[str, Any]:
    """Return what a shopper types."""
    return {"number": number, "expMonth": "12", "expYear": "2040", "cvv": CVV}


async def allow_cards(shop: Stack, **columns: Any) -> None:
    """The store owner confirms that the store may take cards."""
    async with open_services(shop.settings) as services:
        [account] = await services.accounts.all()
        await services.accounts.change(account.id, pci_dss_confirmed_at=services.now(), **columns)


async def offered_card(shop: Stack, checkout_id: str) -> dict[str, Any]:
    """Query as a storefront how to pay with a card: the key and the algorithms."""
    offer = await shop.saleor.gateway_initialize(checkout_id)
    assert offer.data["modes"] == ["hosted", "direct"]
    card: dict[str, Any] = offer.data["card"]
    return card


async def sealed_card(shop: Stack, means: Mapping[str, Any], checkout_id: str) -> dict[str, Any]:
    """Return what a storefront passes in ``data``: the means to pay, sealed for this checkout, and the browser."""
    card = await offered_card(shop, checkout_id)
    sealed = seal({**means, "for": checkout_id}, card["jwk"])
    return {**BACK, "card": sealed, "browserFingerprint": BROWSER}


async def pay(
    shop: Stack, means: Mapping[str, Any], action: Flow = Flow.CHARGE, checkout_id: str | None = None
) -> tuple[str, SessionView]:
    """Fill a basket (or take that checkout) and pay with a card; return it and the session."""
    if checkout_id is None:
        checkout_id = (await shop.saleor.create_checkout()).id
    data = await sealed_card(shop, means, checkout_id)
    session = await shop.saleor.initialize(checkout_id, action=action, data=data, customer_ip="203.0.113.7")
    assert session.event is not None, session
    return checkout_id, session


async def assert_no_card_data_left(shop: Stack, number: str = GOOD, token: str | None = None) -> None:
    """Check that neither the app's files and log nor Saleor's data contain the card."""
    secrets: list[Any] = [CardNumber("card", number), SecurityCode(CVV)]
    secrets += [Secret("token", token)] if token else []
    places = {**_files(shop), **await _rows(shop)}
    assert places["app.log"]
    places["saleor"] = "\n".join(
        f"{delivery.body} {delivery.answer}" for delivery in await shop.saleor.deliveries()
    ).encode()
    places["reports"] = str(await shop.saleor.reports()).encode()
    found = find_secrets(secrets, places)
    assert not found, found


def _files(shop: Stack) -> dict[str, bytes]:
    """Return the log, and with SQLite the raw database files, including deleted data."""
    files = [shop.app.log]
    if is_sqlite(shop.settings.database):
        file = Path(make_url(shop.settings.database).database or "")
        files += file.parent.glob(f"{file.name}*")
    return {file.name: file.read_bytes() for file in files}


async def _rows(shop: Stack) -> dict[str, bytes]:
    found = {}
    async with open_services(shop.settings) as services, services.database.transaction() as session:
        connection = await session.connection()
        for table in SQLModel.metadata.sorted_tables:
            rows = (await connection.execute(text(f"SELECT * FROM {table.name}"))).all()  # noqa: S608 - names of our own
            found[table.name] = str(rows).encode()
    return found
