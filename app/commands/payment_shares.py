"""Formats the shares of a split payment, as a small table for people and as JSON for scripts."""

from collections.abc import Mapping
from decimal import Decimal

from rich.table import Table
from rich.text import Text

from app.commands.messages import figure_text
from app.commands.terminal import plain, table
from app.core.payment import PaymentAggregate
from app.i18n.messages import Money
from app.rules.split.allocation import ZERO
from app.rules.split.overview import overview
from app.rules.split.standing import allocated_shares, chosen_shares, standing_of


def share_table(aggregate: PaymentAggregate, names: Mapping[str, str]) -> Table:
    """Return a table of what each sub-merchant is to get, has received, gave back and has left."""
    rows = overview(aggregate, names)
    chosen = any(row.chosen is not None for row in rows)
    columns = ("Share", "Received", "Refunded", "Left", *(["Next refund"] if chosen else []))
    shares = table("Sub-merchant", *columns, amounts=columns)
    for row in rows:
        amounts = [row.to_get, row.received, row.given_back, row.left] + ([row.chosen or ZERO] if chosen else [])
        shares.add_row(plain(row.name), *(figure_text(amount, aggregate.payment.currency) for amount in amounts))
    if standing_of(aggregate).assumed:
        shares.caption = (
            "Some of this money was moved outside the app without stating whose it was: that part "
            "is assumed, in proportion."
        )
        shares.caption_justify = "left"
    return shares


def format_shares(shares: Mapping[str, Decimal], names: Mapping[str, str], currency: str) -> Text:
    """Return the amounts of sub-merchants in one line."""
    return Text(plain(", ".join(f"{names.get(who, who)} {Money(amount, currency)}" for who, amount in shares.items())))


def shares_to_json(aggregate: PaymentAggregate) -> dict[str, object]:
    """Return the same for scripts, with the shares of each operation. ``known`` false: they are assumed."""
    standing = standing_of(aggregate)
    return {
        "allocated": allocated_shares(aggregate),
        "left": standing.left,
        "assumed": standing.assumed,
        "chosen_for_next_refund": chosen_shares(aggregate),
        "operations": [
            {
                "kind": part.operation.kind.value,
                "psp_reference": part.operation.psp_reference,
                "amount": part.operation.amount,
                "state": part.operation.state.value,
                "known": part.known,
                "shares": part.shares,
            }
            for part in (*standing.received, *standing.refunds)
        ],
    }
