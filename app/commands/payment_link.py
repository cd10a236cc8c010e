"""``payments link``: a link for paying an order that is placed and not paid."""

import base64
import binascii
from typing import Annotated
from urllib.parse import unquote
from uuid import UUID

import typer

from app.bootstrap import open_saleor
from app.commands import account_flags as flags
from app.commands.arguments import build_amount_error
from app.commands.failure import CommandFailed
from app.commands.finders import find_installation
from app.commands.payment_act import RequestName
from app.commands.payment_view import summary
from app.commands.services import with_services
from app.commands.terminal import AsJson, add_fact, fact_sheet, show, show_json
from app.core.payment import PaymentAggregate
from app.i18n.messages import Money
from app.reports.order_payments import get_or_create_payment_link
from app.reports.search_query import name_in_link
from app.rules.refusal import RefusalError
from app.rules.requests.languages import PAGE_LANGUAGES, read_page_language
from app.services import Services
from app.settings import read_settings
from integration_base.amounts import NotAnAmountError


def link(
    order: Annotated[
        str,
        typer.Argument(
            metavar="ORDER",
            help="The order's ID in Saleor or its UUID, or the address of its Dashboard page.",
            show_default=False,
        ),
    ],
    *,
    amount: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="The amount. Default: all that is left to pay.", show_default=False),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE",
            help="The language of the payment page, like uk. Default: the order's.",
            show_default=False,
        ),
    ] = None,
    saleor: flags.Saleor = None,
    request: RequestName = None,
    as_json: AsJson = False,
) -> None:
    """Create a link for a customer to pay an order, or what is left to pay on it; the app must be running.

    If a link for the same amount (and in that language) is still open, it is shown and no other is created. `payments
    cancel` closes it.
    """
    order_id = _order_id(order)
    page_language = None if language is None else _page_language(language)

    async def do(services: Services) -> tuple[PaymentAggregate, str]:
        installation = await find_installation(services, saleor)
        async with open_saleor(read_settings()) as client:
            try:
                aggregate = await get_or_create_payment_link(
                    services,
                    client,
                    installation,
                    order_id,
                    amount=amount,
                    attempt=request,
                    language=page_language,
                )
            except NotAnAmountError:
                raise build_amount_error(amount or "") from None
            except RefusalError as refusal:
                raise CommandFailed(f"no link was created: {refusal.message}") from refusal
        return aggregate, services.addresses.pay_page(aggregate.payment.order_id)

    aggregate, page = with_services(do)
    payment = aggregate.payment
    if as_json:
        addresses = {"link": page, "qr_svg": f"{page}.svg", "qr_png": f"{page}.png"}
        show_json({**summary(aggregate), **addresses, "checkout_url": payment.checkout_url})
        return
    facts = fact_sheet()
    add_fact(facts, "link", page, "bold")
    add_fact(facts, "amount", str(Money(payment.amount, payment.currency)))
    add_fact(facts, "as QR code", f"{page}.png")
    if payment.expires_at is not None:
        add_fact(facts, "until", f"{payment.expires_at:%Y-%m-%d %H:%M} UTC")
    add_fact(facts, "gateway order", payment.order_id)
    show(facts)


def _page_language(given: str) -> str:
    """Return a language of the gateway's payment page. Raises CommandFailed for what is none."""
    language = read_page_language(given)
    if language is None:
        known = ", ".join(sorted(PAGE_LANGUAGES)).lower()
        raise CommandFailed(f"{given!r} is not a language of the payment page: {known}", status=2)
    return language


def _order_id(given: str) -> str:
    """Return Saleor's global id of an order. Raises CommandFailed for what is neither that nor a UUID."""
    name = unquote(name_in_link(given.strip()))
    try:
        return base64.b64encode(f"Order:{UUID(name)}".encode()).decode()
    except ValueError:
        pass
    try:
        kind, _, _ = base64.b64decode(name, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        kind = ""
    if kind != "Order":
        raise CommandFailed(
            f"{given!r} is not an order in Saleor: give its ID (T3J...), or the address of its Dashboard page",
            status=2,
        )
    return name
