"""``payouts``: money that was paid out to cards, and paying out to a card that a customer keeps."""

import getpass
import json
import sys
import uuid
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from app.commands import account_flags as flags
from app.commands.failure import CommandFailed
from app.commands.finding import find_account, find_installation, find_payment
from app.commands.opening import with_services
from app.commands.payment_act import RequestName, Yes
from app.commands.payment_view import AnyName
from app.commands.terminal import (
    AsJson,
    confirm,
    fact,
    fact_sheet,
    plain,
    require_somebody_to_ask,
    say,
    show,
    show_json,
    table,
    warn,
)
from app.db.aggregates import PaymentAggregate
from app.db.payouts import PayoutRecord, payout_of, payouts_page
from app.db.tables import MerchantAccount, SavedCard, State
from app.i18n.messages import Money
from app.payments.operations.pay_out import Signature, known_payout
from app.payments.requests.payout import RECIPIENT, PayoutRefusedError
from app.payments.services import Services
from app.payments.staff.payout_view import facts_of, payouts_csv
from app.payments.staff.payouts import PayoutReview, propose
from app.payments.staff.payouts import confirm as confirm_payout

_HERE = "127.0.0.1"
_NAMESPACE = uuid.UUID("8f0f3a0e-6a3e-4c57-9d55-3a4f0a3a7f10")  # by which the name of a request becomes a key


def list_payouts(
    *,
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="Only those of a Saleor, by its address.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="NUMBER", help="How many, the newest first.")] = 20,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write all of them as CSV, for spreadsheets.")] = False,
) -> None:
    """Show the newest payouts."""

    async def read(services: Services) -> list[dict[str, Any]]:
        store = (await find_installation(services, saleor)).id if saleor else None
        if as_csv:
            async for some in payouts_csv(services, store):
                sys.stdout.write(some)
            return []
        async with services.database.transaction() as session:
            found = await payouts_page(session, store, most=limit)
        return [facts_of(services, each) for each in found]

    found = with_services(read)
    if as_csv:
        return
    if as_json:
        show_json(found)
        return
    if not found:
        say("Nothing was paid out yet.")
        return
    shown = table("Confirmed (UTC)", "Gateway order", "Amount", "To", "Standing")
    shown.columns[1].width = 32  # an order id, which people copy
    shown.columns[3].min_width = 16  # a card's mask
    for each in found:
        to = Text(f"{plain(each['recipient'])}\n{each['card']}")
        shown.add_row(
            each["confirmed_at"],
            each["order_id"],
            f"{each['amount']}\n{each['currency']}",
            to,
            Text("\n".join(plain(words) for words in (each["standing"], *each["problem"].splitlines()))),
        )
    show(shown)


def show_payout(payout: AnyName, as_json: AsJson = False) -> None:
    """Show a payout: who asked for it, who confirmed it, and what became of it."""

    async def read(services: Services) -> dict[str, Any]:
        async with services.database.transaction() as session:
            aggregate = await find_payment(session, payout)
            wanted = await payout_of(session, aggregate.payment.id or 0)
        if wanted is None:
            raise CommandFailed(f"{payout!r} is no payout: `saleor-gateway payments show` shows it")
        return facts_of(services, PayoutRecord(wanted, aggregate))

    found = with_services(read)
    if as_json:
        show_json(found)
        return
    facts = fact_sheet()
    for name, value in found.items():
        if value not in (None, ""):
            fact(facts, name.replace("_", " "), str(value))
    show(facts)
    say(f"Its timeline:  saleor-gateway payments show {found['order_id']}", "dim")


def send(
    account: flags.Account,
    *,
    amount: Annotated[str, typer.Option(metavar="AMOUNT", help="How much, in the account's first currency.")],
    description: Annotated[str, typer.Option(metavar="TEXT", help="What the payout is for: the gateway keeps it.")],
    customer: Annotated[str, typer.Option(metavar="ID", help="Saleor's id of the customer who keeps the card.")],
    recipient: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="A JSON object with the members of the gateway's `properties`; `-` reads it from standard input. "
            "First and last name are needed.",
        ),
    ],
    card: Annotated[
        str | None,
        typer.Option(
            metavar="DIGITS", help="The card's last four digits; needed where there are several.", show_default=False
        ),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(metavar="PAYMENT", help="The payment that it is about, by any of its names.", show_default=False),
    ] = None,
    request: RequestName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Pay out to a card that a customer keeps, once it is confirmed. Limits of the account hold here as well."""
    said = _recipient(recipient) | {"amount": amount, "description": description, "customer": customer}
    key = uuid.uuid5(_NAMESPACE, request).hex if request else uuid.uuid4().hex
    known = with_services(lambda services: _known(services, account, key))
    if known is None:
        review = with_services(lambda services: _review(services, account, said | {"key": key}, card, about))
        for words in review.warnings:
            warn(words)
        if not yes:
            require_somebody_to_ask("confirm with --yes")
            sum_ = Money(review.terms.amount, review.terms.currency)
            confirm(f"Pay {sum_} out to {review.terms.recipient_name}, card {review.mask}?")
        known = with_services(lambda services: _confirmed(services, review))
    _tell(known, as_json=as_json)


def _recipient(file: str) -> dict[str, str]:
    """Return what a file says of the recipient. It is no argument: that would stay in the shell's history."""
    try:
        read = json.loads(sys.stdin.read() if file == "-" else Path(file).read_text())
    except (OSError, ValueError) as exc:
        raise CommandFailed(f"the recipient cannot be read: {exc}", status=2) from None
    if not isinstance(read, dict) or not all(isinstance(each, str) for each in read.values()):
        raise CommandFailed("the recipient is no JSON object of texts", status=2)
    if unknown := sorted(read.keys() - set(RECIPIENT)):
        raise CommandFailed(f"the gateway knows no {', '.join(map(plain, unknown))} of a recipient", status=2)
    return read


async def _known(services: Services, account: str, key: str) -> PaymentAggregate | None:
    row = await find_account(services, account)
    return await known_payout(services, row.installation_id, key)


async def _review(
    services: Services, account: str, said: dict[str, str], digits: str | None, about: str | None
) -> PayoutReview:
    row = await find_account(services, account)
    saved = await _card(services, row, said["customer"], digits)
    about_id = None
    if about is not None:
        async with services.database.transaction() as session:
            about_id = (await find_payment(session, about)).payment.id
    asked = Signature(getpass.getuser(), services.now(), _HERE)
    try:
        return await propose(services, row, said | {"saved_card": saved.id}, asked, about=about_id)
    except PayoutRefusedError as refusal:
        raise CommandFailed(f"nothing was paid out: {refusal}", status=2) from refusal


async def _card(services: Services, row: MerchantAccount, customer: str, digits: str | None) -> SavedCard:
    cards = await services.saved_cards.usable(row.installation_id, row.id, customer, services.now())
    meant = [each for each in cards if digits is None or each.mask.endswith(digits)]
    if not meant:
        raise CommandFailed("this customer keeps no such card with this account", status=2)
    if len(meant) > 1:
        known = ", ".join(each.mask for each in meant)
        raise CommandFailed(f"this customer keeps several cards: say which with --card ({known})", status=2)
    return meant[0]


async def _confirmed(services: Services, review: PayoutReview) -> PaymentAggregate:
    by = Signature(getpass.getuser(), services.now(), _HERE)
    try:
        return await confirm_payout(services, review.account.installation_id, review.sealed, by, email=None)
    except PayoutRefusedError as refusal:
        raise CommandFailed(f"nothing was paid out: {refusal}", status=2) from refusal


def _tell(aggregate: PaymentAggregate, *, as_json: bool) -> None:
    create, order_id = aggregate.create, aggregate.payment.order_id

    async def read(services: Services) -> dict[str, Any]:
        async with services.database.transaction() as session:
            wanted = await payout_of(session, aggregate.payment.id or 0)
        assert wanted is not None  # noqa: S101 - written with the payment
        return facts_of(services, PayoutRecord(wanted, aggregate))

    if as_json:
        show_json(with_services(read))
    if create.state is State.FAILURE:
        raise CommandFailed(f"it was not paid out: {create.message}")
    if as_json:
        return
    if create.state is State.SUCCESS:
        say(f"Paid out: {Money(create.amount, create.currency)} ({order_id}).")
    else:
        say(f"How it ends is not known yet: saleor-gateway payouts show {order_id}")
