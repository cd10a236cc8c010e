"""``customers forget`` and ``customers export``: what is kept of one customer of a store."""

import base64
import binascii
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from app.commands.failure import CommandFailed
from app.commands.finding import find_installation
from app.commands.opening import with_services
from app.commands.payment_act import Yes
from app.commands.terminal import AsJson, confirm, require_somebody_to_ask, say, show_json
from app.payments.services import Services
from app.payments.staff.customers import (
    customers_of,
    erase_payments_with,
    facts_of_card,
    facts_of_payment,
    payments_of,
)
from app.payments.staff.search_query import ByEmail, read

Customer = Annotated[
    str | None,
    typer.Argument(metavar="[CUSTOMER]", help="Saleor's id of the customer, as VXNlcjo0Mg==.", show_default=False),
]
ByAddress = Annotated[
    bool, typer.Option("--by-email", help="Ask for the customer's e-mail address, or read it from standard input.")
]
OfSaleor = Annotated[
    str | None,
    typer.Option("--saleor", metavar="URL", help="Which Saleor, if several have installed the app."),
]

_STAYS = "Payments stay, with their amounts and the first six and last four digits of cards."
_ONLY_CARDS = "Delete them for good?"
_BY_ID = (
    "What payments say of the customer stays too, encrypted, until it is kept no longer (APP_KEEP_PERSONAL_DATA): give "
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
    """Delete the cards that a store keeps of a customer, and keep none of payments that have not ended.

    With --by-email also what the customer's finished payments say of them, guests' as well.
    """
    user_id, address = _named(customer, by_email=by_email)

    async def found(services: Services) -> tuple[dict[str, int], int]:
        store = (await find_installation(services, saleor)).id
        payments = 0 if address is None else sum([1 async for _ in payments_of(services, store, address)])
        users = await _users(services, store, user_id, address, guests=payments > 0)
        cards = {each: len(await services.saved_cards.of_customer(store, each)) for each in sorted(users)}
        return cards, payments

    known, payments = with_services(found)
    if not yes:
        require_somebody_to_ask("confirm with --yes")
        for each, cards in known.items():
            say(f"{each}: saved cards: {cards}")
        if address is not None:
            say(f"payments with this address: {payments}")
        confirm("Delete them for good, and what finished payments say of the customer?" if payments else _ONLY_CARDS)

    async def do(services: Services) -> tuple[list[dict[str, Any]], dict[str, int]]:
        store = (await find_installation(services, saleor)).id
        done = [{"customer": each, **asdict(await services.saved_cards.forget(store, each))} for each in known]
        if address is None:
            return done, {}
        erased, left = await erase_payments_with(services, store, address)
        return done, {"erased": erased, "not_finished": left}

    done, of_payments = with_services(do)
    if as_json:
        show_json({"forgotten": done, "payments": of_payments or None, "remains": _STAYS})
        return
    for one in done:
        say(f"{one['customer']}: cards deleted: {one['cards']}, payments that keep none any more: {one['consents']}")
    if of_payments:
        say(f"payments that say nothing of the customer any more: {of_payments['erased']}")
    if of_payments.get("not_finished"):
        say(f"payments that are not finished, and are as they were: {of_payments['not_finished']}; do it again later")
    say(_STAYS if address is not None else f"{_STAYS} {_BY_ID}", "dim")


def export(
    customer: Customer = None, *, by_email: ByAddress = False, saleor: OfSaleor = None, as_json: AsJson = False
) -> None:
    """Write what is kept of a customer as JSON: saved cards, and by e-mail address their payments. Never a token."""
    del as_json  # it is nothing else
    user_id, address = _named(customer, by_email=by_email)

    async def do(services: Services) -> dict[str, Any]:
        store = (await find_installation(services, saleor)).id
        users = await _users(services, store, user_id, address, guests=True)
        kept = [await services.saved_cards.of_customer(store, each) for each in sorted(users)]
        cards = [facts_of_card(card) for theirs in kept for card in theirs]
        payments = None
        if address is not None:
            payments = [facts_of_payment(each) async for each in payments_of(services, store, address)]
        return {"customers": sorted(users), "cards": cards, "payments": payments}

    show_json(with_services(do))


def _named(customer: str | None, *, by_email: bool) -> tuple[str | None, str | None]:
    """Return Saleor's id of a customer, or their address. That is never an argument: it would stay in the history."""
    if by_email == (customer is not None):
        raise CommandFailed("say who it is: Saleor's id of the customer, or --by-email", status=2)
    if customer is not None:
        if "@" in customer:
            raise CommandFailed("an address would stay in the shell's history: use --by-email", status=2)
        return _user_id(customer), None
    prompt = sys.stdin.isatty()
    typed = read(typer.prompt("E-mail address", err=True) if prompt else sys.stdin.readline())
    if not isinstance(typed, ByEmail):
        raise CommandFailed("this is no e-mail address", status=2)
    return None, typed.address


def _user_id(given: str) -> str:
    """Return an id that can be a customer's: whoever has mistyped it must not read that nothing is kept."""
    try:
        kind, _, number = base64.b64decode(given, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        kind, number = "", ""
    if kind != "User" or not number:
        raise CommandFailed(f"{given!r} is no id of a customer in Saleor, which begins with VXNlcjo", status=2)
    return given


async def _users(
    services: Services, store: int, user_id: str | None, address: str | None, *, guests: bool = False
) -> set[str]:
    if user_id is not None:
        return {user_id}
    users = await customers_of(services, store, address or "")
    if not users and not guests:
        raise CommandFailed(
            "no customer has paid here with that address, signed in: of guests no card is kept; "
            "give Saleor's id of the customer"
        )
    return users
