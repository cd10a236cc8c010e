"""``payments raw``: the raw messages of a payment: requests to the gateway, notifications, and events for Saleor."""

from typing import Annotated

import typer
from rich.text import Text

from app.commands.failure import CommandFailed
from app.commands.finders import find_payment
from app.commands.payment_view import AnyName
from app.commands.services import with_services
from app.commands.terminal import AsJson, moment, print_line, show, show_json
from app.flows.on_demand import fetch_records
from app.reports.raw import RawMessage, raw_messages, raw_records
from app.services import Services
from gateway_client.errors import GatewayError
from integration_base.exact_json import loads


def show_raw(
    payment: AnyName,
    *,
    now: Annotated[bool, typer.Option("--now", help="Show the current records at the gateway instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the requests to the gateway, its notifications, and the events sent to Saleor. No shopper data is shown."""
    if now:
        text = with_services(lambda services: _records(services, payment))
        show_json(loads(text, any_number=True)) if as_json else show(Text(text))
        return
    messages = with_services(lambda services: _messages(services, payment))
    if as_json:
        show_json(
            [
                {
                    "at": moment(message.at),
                    "source": message.source.value,
                    "what": message.what,
                    "said": loads(message.text, any_number=True),
                }
                for message in messages
            ]
        )
        return
    for message in messages:
        print_line(f"{message.at:%Y-%m-%d %H:%M:%S} {message.source.value} {message.what}", "bold")
        show(Text(message.text))


async def _messages(services: Services, payment: str) -> list[RawMessage]:
    async with services.database.transaction() as session:
        aggregate = await find_payment(session, payment)
    return raw_messages(
        aggregate, await services.inbox.find_for_order(aggregate.payment.account_id, aggregate.payment.order_id)
    )


async def _records(services: Services, payment: str) -> str:
    async with services.database.transaction() as session:
        order_id = (await find_payment(session, payment)).payment.order_id
    records = await fetch_records(services, order_id)
    if isinstance(records, GatewayError):
        raise CommandFailed(f"the request to the gateway failed: {records.message}")
    return raw_records(records)
