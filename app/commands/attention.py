"""``attention``: lists what needs a person, of one Saleor or of all. Its exit status can be monitored."""

from collections.abc import Sequence
from typing import Annotated

import typer

from app.commands.finders import find_installation
from app.commands.payment_view import payment_amount
from app.commands.services import with_services
from app.commands.terminal import AsJson, add_fact, fact_sheet, moment, print_line, show, show_json
from app.core.alerts import PAYMENT_ALERTS, AlertKind
from app.core.payment import PaymentAggregate
from app.reports.alerts.open_alerts import Alert, find_open_alerts
from app.reports.alerts.texts import ALERT_TEXTS, command_for
from app.reports.status import standing
from app.services import Services
from app.store.aggregates import load_outlines
from app.store.installations import OpenInstallation
from app.store.problems import payments_with_problem

_PAYMENTS_SHOWN = 5  # of an alert; the page shows as many
_LOOKED_UP = {AlertKind.MISMATCH, AlertKind.DIFFERENCE, AlertKind.WAITING}  # perhaps the gateway knows more by now
_LOOK_UP, _SHOW = "saleor-gateway payments settle", "saleor-gateway payments show"


def attention(
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="Only the store at this Saleor API URL.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what needs attention, and what to do about it. The exit status is 1 if there is anything."""

    async def read(services: Services) -> list[tuple[OpenInstallation, Alert, Sequence[PaymentAggregate]]]:
        stores = await services.installations.all() if saleor is None else [await find_installation(services, saleor)]
        return [
            (store, item, () if as_json else await _payments_of(services, store, item))
            for store in stores
            for item in await find_open_alerts(services, store)
        ]

    found = with_services(read)
    if as_json:
        show_json([_to_json(store, item) for store, item, _ in found])
    elif not found:
        print_line("Nothing needs attention.")
    else:
        for store, item, payments in found:
            _print_item(store, item, payments)
    if found:
        raise typer.Exit(1)


async def _payments_of(services: Services, store: OpenInstallation, item: Alert) -> Sequence[PaymentAggregate]:
    """Return the newest payments that an alert is about, and one more than are shown if there are more."""
    if item.what not in PAYMENT_ALERTS:
        return ()
    async with services.database.transaction() as session:
        found = await payments_with_problem(
            session, store.id, item.what, account_id=item.account_id, most=_PAYMENTS_SHOWN + 1
        )
        return await load_outlines(session, [payment for payment, _ in found])


def _print_item(store: OpenInstallation, item: Alert, payments: Sequence[PaymentAggregate]) -> None:
    text = ALERT_TEXTS[item.what]
    print_line(text.title, "bold red")
    facts = fact_sheet()
    add_fact(facts, "store", store.saleor_api_url)
    if item.account is not None:
        add_fact(facts, "account", f"{item.account} ({item.account_id})")
    if item.since is not None:
        add_fact(facts, "how many", f"more than {item.count}" if item.more else str(item.count))
        add_fact(facts, "since", f"{item.since:%Y-%m-%d %H:%M} UTC")
    if item.detail is not None:
        add_fact(facts, "last error", item.detail)
    add_fact(facts, "means", text.meaning)
    add_fact(facts, "to do", text.remedy)
    show(facts)
    for aggregate in payments[:_PAYMENTS_SHOWN]:
        _print_payment(item.what, aggregate)
    if len(payments) > _PAYMENTS_SHOWN:
        print_line(f"and {item.count - _PAYMENTS_SHOWN} more", indent=2)
    if len(payments) != 1:
        print_line(f"run: {command_for(item)}", "dim", indent=2)


def _print_payment(what: AlertKind, aggregate: PaymentAggregate) -> None:
    payment = aggregate.payment
    subject = f"order {payment.order_number}" if payment.order_number else f"gateway order {payment.order_id}"
    print_line(f"{subject}: {payment_amount(aggregate)}, {standing(aggregate)}", "bold", indent=2)
    command = _LOOK_UP if what in _LOOKED_UP else _SHOW
    print_line(f"run: {command} {payment.order_id}", "dim", indent=4)


def _to_json(store: OpenInstallation, item: Alert) -> dict[str, object]:
    text = ALERT_TEXTS[item.what]
    return {
        "saleor": store.saleor_api_url,
        "what": item.what.value,
        "key": item.key,
        "account": item.account_id,
        "account_name": item.account,
        "count": item.count,
        "more": item.more,
        "since": moment(item.since),
        "detail": item.detail,
        "title": text.title,
        "meaning": text.meaning,
        "remedy": text.remedy,
        "command": command_for(item),
    }
