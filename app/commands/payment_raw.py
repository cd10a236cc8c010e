"""``payments raw``: what was asked, notified and told of a payment, as it was said."""

from typing import Annotated

import typer
from rich.text import Text

from app.commands.failure import CommandFailed
from app.commands.finding import find_payment
from app.commands.opening import with_services
from app.commands.payment_view import AnyName
from app.commands.terminal import AsJson, moment, say, show, show_json
from app.exact_json import loads
from app.gateway.errors import GatewayError
from app.payments.services import Services
from app.payments.staff.raw import Raw, raw, raw_records
from app.payments.sync.on_demand import records_now


def show_raw(
    payment: AnyName,
    *,
    now: Annotated[bool, typer.Option("--now", help="Ask the gateway what it shows at this moment instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the gateway was asked and has notified, and what Saleor was told. Nothing of the shopper is shown."""
    if now:
        text = with_services(lambda services: _records(services, payment))
        show_json(loads(text, any_number=True)) if as_json else show(Text(text))
        return
    messages = with_services(lambda services: _messages(services, payment))
    if as_json:
        show_json(
            [
                {
                    "at": moment(each.at),
                    "source": each.source.value,
                    "what": each.what,
                    "said": loads(each.text, any_number=True),
                }
                for each in messages
            ]
        )
        return
    for each in messages:
        say(f"{each.at:%Y-%m-%d %H:%M:%S} {each.source.value} {each.what}", "bold")
        show(Text(each.text))


async def _messages(services: Services, payment: str) -> list[Raw]:
    async with services.database.transaction() as session:
        aggregate = await find_payment(session, payment)
    return raw(aggregate, await services.inbox.of_order(aggregate.payment.account_id, aggregate.payment.order_id))


async def _records(services: Services, payment: str) -> str:
    async with services.database.transaction() as session:
        order_id = (await find_payment(session, payment)).payment.order_id
    records = await records_now(services, order_id)
    if isinstance(records, GatewayError):
        raise CommandFailed(f"the gateway could not be asked: {records.message}")
    return raw_records(records)
