"""``payouts``: lists and shows payouts to cards, and pays out to a customer's saved card."""

import json
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from app.commands import account_flags as flags
from app.commands import sheets
from app.commands.arguments import read_amount
from app.commands.failure import CommandFailed
from app.commands.finders import find_account, find_installation, find_payment
from app.commands.messages import figure_text
from app.commands.payment_act import RequestName, Yes
from app.commands.payment_view import AnyName
from app.commands.services import with_services
from app.commands.system_user import user_name
from app.commands.terminal import (
    AsJson,
    add_fact,
    confirm,
    fact_sheet,
    plain,
    print_line,
    print_warning,
    require_interactive,
    show,
    show_json,
    table,
)
from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from app.flows.pay_out import Signature, find_payout
from app.flows.staff.payouts import PayoutReview, propose
from app.flows.staff.payouts import confirm as confirm_payout
from app.i18n.messages import Money
from app.reports.customers import open_request
from app.reports.payout_view import payout_facts, payout_rows
from app.rules.requests.payout import RECIPIENT_FIELDS, PayoutRefusedError
from app.services import Services
from app.store.payouts import PayoutRecord, payout_of, payouts_page
from app.store.tables import MerchantAccount, SavedCard

_HERE = "127.0.0.1"
_NAMES = ("recipient_first_name", "recipient_middle_name", "recipient_last_name")
_NAMESPACE = uuid.UUID("8f0f3a0e-6a3e-4c57-9d55-3a4f0a3a7f10")  # derives a key from the name of a request


def list_payouts(
    *,
    saleor: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Only payouts of the store at this Saleor API URL.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="NUMBER", help="How many to show, newest first.")] = 20,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write all payouts as CSV, for spreadsheets.")] = False,
    as_xlsx: sheets.AsXlsx = False,
    language: sheets.InLanguage = sheets.DEFAULT_LANGUAGE,
    time_zone: sheets.InZone = sheets.DEFAULT_ZONE,
) -> None:
    """Show the newest payouts."""
    form, style = sheets.chosen_form(as_csv=as_csv, as_xlsx=as_xlsx), sheets.read_style(language, time_zone)

    async def read(services: Services) -> list[dict[str, Any]]:
        store = None if saleor is None else (await find_installation(services, saleor)).id
        if form:
            await sheets.write_sheet(payout_rows(services, store, style), form, style)
            return []
        async with services.database.transaction() as session:
            found = await payouts_page(session, store, most=limit)
        return [payout_facts(services, payout) for payout in found]

    found = with_services(read)
    if form:
        return
    if as_json:
        show_json(found)
        return
    if not found:
        print_line("There are no payouts yet.")
        return
    rows = table("Confirmed (UTC)", "Gateway order", "Amount", "To", "Status")
    rows.columns[1].width = 32  # an order id, which people copy
    rows.columns[3].min_width = 16  # a card's mask
    for payout in found:
        to = Text(f"{plain(payout['recipient'])}\n{payout['card']}")
        rows.add_row(
            payout["confirmed_at"],
            payout["order_id"],
            f"{figure_text(payout['amount'], payout['currency'])}\n{payout['currency']}",
            to,
            Text("\n".join(plain(text) for text in (payout["standing"], *payout["problem"].splitlines()))),
        )
    show(rows)


def show_payout(payout: AnyName, as_json: AsJson = False) -> None:
    """Show a payout: who requested it, who confirmed it, and its outcome."""

    async def read(services: Services) -> dict[str, Any]:
        async with services.database.transaction() as session:
            aggregate = await find_payment(session, payout, kind="payout")
            record = await payout_of(session, aggregate.payment.id or 0)
        if record is None:
            raise CommandFailed(f"{payout!r} is not a payout: use `saleor-gateway payments show` to see it")
        return payout_facts(services, PayoutRecord(record, aggregate))

    found = with_services(read)
    if as_json:
        show_json(found)
        return
    facts = fact_sheet()
    for name, value in found.items():
        if value not in (None, ""):
            add_fact(facts, name.replace("_", " "), str(value))
    show(facts)
    print_line(f"Its timeline:  saleor-gateway payments show {found['order_id']}", "dim")


def send(
    account: flags.Account,
    *,
    amount: Annotated[str, typer.Option(metavar="AMOUNT", help="The amount, in the account's first currency.")],
    description: Annotated[str, typer.Option(metavar="TEXT", help="What the payout is for: the gateway stores it.")],
    customer: Annotated[str, typer.Option(metavar="ID", help="The ID in Saleor of the customer who saved the card.")],
    recipient: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="A JSON object with the members of the gateway's `properties`, `recipient_email`, `recipient_tax_id` "
            "and a `reference` of your own; `-` reads it from standard input. First and last name are required.",
        ),
    ],
    card: Annotated[
        str | None,
        typer.Option(
            metavar="DIGITS",
            help="The card's last four digits; required if the customer has several.",
            show_default=False,
        ),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(
            metavar="PAYMENT", help="The payment that the payout relates to, by any of its IDs.", show_default=False
        ),
    ] = None,
    request: RequestName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Pay out to a customer's saved card, after confirmation. The account's limits apply here too."""
    form = _recipient(recipient) | {"amount": amount, "description": description, "customer": customer}
    key = uuid.uuid5(_NAMESPACE, request).hex if request else uuid.uuid4().hex
    known = with_services(lambda services: _find_payout(services, account, key))
    if known is None:
        review = with_services(lambda services: _review(services, account, form | {"key": key}, card, about))
        for text in review.warnings:
            print_warning(text)
        if not yes:
            require_interactive("confirm with --yes")
            sum_ = Money(review.terms.amount, review.terms.currency)
            confirm(f"Pay out {sum_} to {review.terms.recipient_name}, card {review.mask}?")
        known = with_services(lambda services: _confirm(services, review))
    if request:
        with_services(lambda services: _require_same(services, known, account, form, card))
    _print_result(known, as_json=as_json)


def _recipient(file: str) -> dict[str, str]:
    """Return the recipient's data from a file; as an argument it would stay in the shell's history.

    Raises CommandFailed.
    """
    try:
        # Bytes, in which JSON has one encoding, whatever that of the terminal is; some editors put a mark before it.
        read = json.loads((sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode("utf-8-sig"))
    except (OSError, ValueError) as exc:
        raise CommandFailed(f"the recipient cannot be read: {exc}", status=2) from None
    if not isinstance(read, dict) or not all(isinstance(value, str) for value in read.values()):
        raise CommandFailed("the recipient must be a JSON object with text values", status=2)
    if unknown := sorted(read.keys() - set(RECIPIENT_FIELDS)):
        raise CommandFailed(
            f"the gateway has no such field for a recipient: {', '.join(map(plain, unknown))}", status=2
        )
    return read


async def _find_payout(services: Services, account: str, key: str) -> PaymentAggregate | None:
    row = await find_account(services, account)
    return await find_payout(services, row.installation_id, key)


async def _require_same(
    services: Services, made: PaymentAggregate, account: str, form: Mapping[str, str], digits: str | None
) -> None:
    """Raise CommandFailed when another payout than the wanted one was made under the same name.

    What cannot be read any more, because it was erased or its key is missing, is not compared.
    """
    row = await find_account(services, account)
    request = open_request(services, made.payment, made.create)
    recipient = request.get("properties") or {name: form.get(name, "").strip() for name in _NAMES}
    is_same = {
        "account": made.payment.account_id == row.id,
        "amount": made.payment.amount == read_amount(form["amount"], made.payment.currency),
        "card": request.get("customer_id") in {None, form["customer"]}
        and (made.payment.saved_card_mask or "").endswith(digits or ""),
        "recipient": all(str(recipient.get(name) or "") == form.get(name, "").strip() for name in _NAMES),
    }
    different = " and ".join(what for what, same in is_same.items() if not same)
    if different:
        raise CommandFailed(
            f"nothing was paid out now: this name of a request was already used for a payout with another {different}: "
            f"see saleor-gateway payouts show {made.payment.order_id}",
            status=2,
        )


async def _review(
    services: Services, account: str, form: dict[str, str], digits: str | None, about: str | None
) -> PayoutReview:
    row = await find_account(services, account)
    saved = await _card(services, row, form["customer"], digits)
    about_id = None
    if about is not None:
        async with services.database.transaction() as session:
            about_id = (await find_payment(session, about)).payment.id
    signature = Signature(user_name(), services.now(), _HERE)
    try:
        return await propose(services, row, form | {"saved_card": saved.id}, signature, about=about_id)
    except PayoutRefusedError as refusal:
        raise CommandFailed(f"nothing was paid out: {refusal}", status=2) from refusal


async def _card(services: Services, row: MerchantAccount, customer: str, digits: str | None) -> SavedCard:
    cards = await services.saved_cards.usable_cards(row.installation_id, row.id, customer, services.now())
    matches = [card for card in cards if digits is None or (digits and card.mask.endswith(digits))]
    if not matches:
        raise CommandFailed("this customer has no such saved card with this account", status=2)
    if len(matches) > 1:
        known = ", ".join(match.mask for match in matches)
        raise CommandFailed(f"this customer has several saved cards: choose one with --card ({known})", status=2)
    return matches[0]


async def _confirm(services: Services, review: PayoutReview) -> PaymentAggregate:
    signature = Signature(user_name(), services.now(), _HERE)
    try:
        return await confirm_payout(services, review.account.installation_id, review.sealed, signature, person=None)
    except PayoutRefusedError as refusal:
        raise CommandFailed(f"nothing was paid out: {refusal}", status=2) from refusal


def _print_result(aggregate: PaymentAggregate, *, as_json: bool) -> None:
    create, order_id = aggregate.create, aggregate.payment.order_id

    async def read(services: Services) -> dict[str, Any]:
        async with services.database.transaction() as session:
            record = await payout_of(session, aggregate.payment.id or 0)
        assert record is not None  # noqa: S101 - written with the payment
        return payout_facts(services, PayoutRecord(record, aggregate))

    if as_json:
        show_json(with_services(read))
    if create.state is State.FAILURE:
        raise CommandFailed(f"the payout was not made: {create.message}")
    if as_json:
        return
    if create.state is State.SUCCESS:
        print_line(f"Paid out: {Money(create.amount, create.currency)} ({order_id}).")
    else:
        print_line(f"The outcome is not known yet: saleor-gateway payouts show {order_id}")
