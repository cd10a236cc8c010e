"""``payments raw``: what was asked, notified and told of a payment, as it was said."""

import json
from typing import Annotated

import typer
from rich.text import Text

from app.commands.failure import CommandFailed
from app.commands.finding import find_payment
from app.commands.opening import at_desk
from app.commands.payment_view import AnyName
from app.commands.terminal import AsJson, moment, say, show, show_json
from app.gateway.errors import GatewayError
from app.payments.desk import Desk
from app.payments.learn.ask import records_now
from app.payments.show.raw import Raw, raw, raw_records


def show_raw(
    payment: AnyName,
    *,
    now: Annotated[bool, typer.Option("--now", help="Ask the gateway what it shows at this moment instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the gateway was asked and has notified, and what Saleor was told. Nothing of the shopper is shown."""
    if now:
        text = at_desk(lambda desk: _records(desk, payment))
        show_json(json.loads(text)) if as_json else show(Text(text))
        return
    messages = at_desk(lambda desk: _messages(desk, payment))
    if as_json:
        show_json(
            [
                {"at": moment(each.at), "source": each.source.value, "what": each.what, "said": json.loads(each.text)}
                for each in messages
            ]
        )
        return
    for each in messages:
        say(f"{each.at:%Y-%m-%d %H:%M:%S} {each.source.value} {each.what}", "bold")
        show(Text(each.text))


async def _messages(desk: Desk, payment: str) -> list[Raw]:
    async with desk.database.transaction() as session:
        sheet = await find_payment(session, payment)
    return raw(sheet, await desk.inbox.of_order(sheet.payment.account_id, sheet.payment.order_id))


async def _records(desk: Desk, payment: str) -> str:
    async with desk.database.transaction() as session:
        order_id = (await find_payment(session, payment)).payment.order_id
    records = await records_now(desk, order_id)
    if isinstance(records, GatewayError):
        raise CommandFailed(f"the gateway could not be asked: {records.message}")
    return raw_records(records)
