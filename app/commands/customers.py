"""``customers forget`` and ``customers export``: the stored data of one customer of a store."""

import base64
import binascii
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from app.commands.failure import CommandFailed
from app.commands.finders import find_installation
from app.commands.payment_act import Yes
from app.commands.services import with_services
from app.commands.terminal import AsJson, confirm, print_line, require_interactive, show_json
from app.core.ids import OrderId
from app.reports.customers import (
    customer_ids_of,
    erase_payments_by_email,
    facts_of_card,
    facts_of_payment,
    payments_by_email,
    running_subscriptions_of,
)
from app.reports.search_query import ByEmail, parse_query
from app.services import Services
from integration_base.typed_text import typed_email

Customer = Annotated[
    str | None,
    typer.Argument(metavar="[CUSTOMER]", help="The customer's ID in Saleor, like VXNlcjo0Mg==.", show_default=False),
]
ByAddress = Annotated[
    bool, typer.Option("--by-email", help="Prompt for the customer's e-mail address, or read it from standard input.")
]
OfSaleor = Annotated[
    str | None,
    typer.Option("--saleor", metavar="URL", help="The store's Saleor API URL, if several have installed the app."),
]

_STAYS = "Payments are kept, with their amounts and the first six and last four digits of cards."
_ONLY_CARDS = "Delete them permanently?"
_BY_ID = (
    "The customer's data in payments is also kept, encrypted, until it expires (APP_KEEP_PERSONAL_DATA_DAYS): give "
    "the address with --by-email to erase it now."
)


def forget(
    customer: Customer = None,
    *,
    by_email: ByAddress = False,
    saleor: OfSaleor = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a customer's saved cards, and save none from payments that are still open.

    With --by-email, also erase the customer's data in finished payments, including those made as a guest.
    """
    user_id, address = _parse_customer(customer, by_email=by_email)

    async def found(services: Services) -> tuple[dict[str, int], int]:
        store = (await find_installation(services, saleor)).id
        payments = 0 if address is None else sum([1 async for _ in payments_by_email(services, store, address)])
        users = await _find_user_ids(services, store, user_id, address, guests=payments > 0)
        cards = {user: len(await services.saved_cards.cards_of_customer(store, user)) for user in sorted(users)}
        return cards, payments

    known, payments = with_services(found)
    if not yes:
        require_interactive("confirm with --yes")
        for known_customer, cards in known.items():
            print_line(f"{known_customer}: saved cards: {cards}")
        if address is not None:
            print_line(f"payments with this address: {payments}")
        confirm("Delete them permanently, and the customer's data in finished payments?" if payments else _ONLY_CARDS)

    async def do(services: Services) -> tuple[list[dict[str, Any]], dict[str, int], list[OrderId]]:
        store = (await find_installation(services, saleor)).id
        done = [
            {"customer": customer_id, **asdict(await services.saved_cards.delete_all(store, customer_id))}
            for customer_id in known
        ]
        if address is None:
            return done, {}, []
        erased, left = await erase_payments_by_email(services, store, address)
        running = [payment.order_id async for payment in running_subscriptions_of(services, store, address)]
        return done, {"erased": erased, "not_finished": left}, running

    done, of_payments, running = with_services(do)
    if as_json:
        subscriptions = {"subscriptions": running} if address is not None else {}
        show_json({"forgotten": done, "payments": of_payments or None, **subscriptions, "remains": _STAYS})
        return
    for one in done:
        print_line(
            f"{one['customer']}: cards deleted: {one['cards']}, payments that will save no card: {one['consents']}"
        )
    if of_payments:
        print_line(f"payments whose customer data was erased: {of_payments['erased']}")
    if of_payments.get("not_finished"):
        print_line(f"unfinished payments, not changed: {of_payments['not_finished']}; run this again later")
    for order_id in running:
        print_line(
            f"{order_id}: its subscription is still charged: cancel it with `saleor-gateway payments "
            f"cancel-subscription {order_id}`, then run this again"
        )
    print_line(_STAYS if address is not None else f"{_STAYS} {_BY_ID}", "dim")


def export(
    customer: Customer = None, *, by_email: ByAddress = False, saleor: OfSaleor = None, as_json: AsJson = False
) -> None:
    """Write what is stored about a customer as JSON: saved cards and, by e-mail address, their payments. No tokens."""
    del as_json  # the output is always JSON
    user_id, address = _parse_customer(customer, by_email=by_email)

    async def do(services: Services) -> dict[str, Any]:
        store = (await find_installation(services, saleor)).id
        users = await _find_user_ids(services, store, user_id, address, guests=True)
        cards_by_user = [await services.saved_cards.cards_of_customer(store, user) for user in sorted(users)]
        cards = [facts_of_card(card) for user_cards in cards_by_user for card in user_cards]
        payments = None
        if address is not None:
            payments = [facts_of_payment(payment) async for payment in payments_by_email(services, store, address)]
        return {"customers": sorted(users), "cards": cards, "payments": payments}

    show_json(with_services(do))


def _parse_customer(customer: str | None, *, by_email: bool) -> tuple[str | None, str | None]:
    """Return Saleor's id of a customer, or their address, which is never an argument: the shell's history keeps those.

    Raises CommandFailed.
    """
    if by_email == (customer is not None):
        raise CommandFailed("name the customer: by ID in Saleor, or with --by-email", status=2)
    if customer is not None:
        if "@" in typed_email(customer):
            raise CommandFailed("an e-mail address would stay in the shell's history: use --by-email", status=2)
        return _user_id(customer), None
    prompt = sys.stdin.isatty()
    typed = parse_query(typer.prompt("E-mail address", err=True) if prompt else sys.stdin.readline())
    if not isinstance(typed, ByEmail):
        raise CommandFailed("this is not an e-mail address", status=2)
    return None, typed.address


def _user_id(given: str) -> str:
    """Return the id if it can be a customer's: a mistyped id must not produce the output that nothing is stored.

    Raises CommandFailed.
    """
    try:
        kind, _, number = base64.b64decode(given, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        kind, number = "", ""
    if kind != "User" or not number:
        raise CommandFailed(f"{given!r} is not the ID of a customer in Saleor: these start with VXNlcjo", status=2)
    return given


async def _find_user_ids(
    services: Services, store: int, user_id: str | None, address: str | None, *, guests: bool = False
) -> set[str]:
    if user_id is not None:
        return {user_id}
    users = await customer_ids_of(services, store, address or "")
    if not users and not guests:
        raise CommandFailed(
            "no signed-in customer has paid here with this address, and no cards are saved for guests: "
            "give the customer's ID in Saleor"
        )
    return users
