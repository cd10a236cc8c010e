"""The money of a period as CSV (RFC 4180), for accountants: our figures and the gateway's in one line.

Days are those of UTC, amounts have a decimal point, and texts are English whoever requests them. It holds no data of
shoppers.
"""

from collections.abc import Iterator, Sequence

from app.amounts import format_amount
from app.db.day_sums import UNKNOWN_CHANNEL
from app.payments.staff.csv_export import csv_lines, escape_formula
from app.payments.staff.money import Agreement, Figures, GroupBy, MoneyReport, Row

DEFAULT_GROUPING = (GroupBy.DAY, GroupBy.ACCOUNT, GroupBy.CHANNEL)
"""The default grouping of the lines of a file."""

SUB_MERCHANT_GROUPING = (GroupBy.DAY, GroupBy.RECEIVER)
"""The grouping in a marketplace's file."""

_SUMS = (
    "charged", "charges", "refunded", "refunds", "charged_back", "charge_backs", "paid_out", "payouts",
    "fees", "fees_not_known", "net",
)  # fmt: skip
_NO_CHANNELS = {"": "(trial or payout)", UNKNOWN_CHANNEL: "(orders of nobody)"}
_NO_RECEIVER = {"": "(not divided)"}
_BATCH_SIZE = 500


def money_csv(money: MoneyReport, by: Sequence[GroupBy] = DEFAULT_GROUPING) -> Iterator[str]:
    """Yield the lines in batches, the first with the names of the columns.

    The gateway's columns are empty where its books were not compared completely.
    """
    named = [each for each in by if each is not GroupBy.CURRENCY]
    yield csv_lines(
        [(*named, "currency", *_SUMS, *(f"gateway_{each}" for each in _SUMS), "days", "days_compared", "books")]
    )
    rows = money.rows(*by)
    for first in range(0, len(rows), _BATCH_SIZE):
        yield csv_lines([_cells(money, named, each) for each in rows[first : first + _BATCH_SIZE]])


def _cells(money: MoneyReport, named: Sequence[GroupBy], row: Row) -> Sequence[str]:
    is_compared = row.agreement is not Agreement.NOT_COMPARED
    return (
        *(escape_formula(label(money, each, name)) for each, name in zip(named, row.names, strict=True)),
        escape_formula(row.currency),
        *_figures(row.ours),
        *(_figures(row.gateway) if is_compared else [""] * len(_SUMS)),
        str(row.days),
        str(row.days_compared),
        row.agreement.value,
    )


def label(money: MoneyReport, by: GroupBy, name: object) -> str:
    """Return the label of a value that sums are grouped by, in English."""
    names = {
        GroupBy.ACCOUNT: money.accounts,
        GroupBy.RECEIVER: _NO_RECEIVER | dict(money.receivers),
        GroupBy.CHANNEL: _NO_CHANNELS,
    }.get(by, {})
    return names.get(str(name), str(name))


def _figures(figures: Figures) -> list[str]:
    values = (
        *(figures.charged, figures.charges, figures.refunded, figures.refunds),
        *(figures.charged_back, figures.charge_backs, figures.paid_out, figures.payouts),
        *(figures.fee, figures.no_fee, figures.net),
    )
    return [str(each) if isinstance(each, int) else format_amount(each) for each in values]
