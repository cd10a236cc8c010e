"""The money of a period as CSV (RFC 4180), for accountants: our figures and the gateway's in one line.

Days are those of UTC, amounts have a decimal point, and words are English whoever asks. Nothing in it is of shoppers.
"""

from collections.abc import Iterator, Sequence

from app.db.day_sums import NOBODYS
from app.payments.staff.csv_export import harmless, lines
from app.payments.staff.money import Agreement, By, Figures, Money, Row

DETAIL = (By.DAY, By.ACCOUNT, By.CHANNEL)
"""What the lines of a file are made by, unless somebody wants otherwise."""

OF_SUB_MERCHANTS = (By.DAY, By.RECEIVER)
"""What they are made by in a marketplace's file."""

_SUMS = (
    "charged", "charges", "refunded", "refunds", "charged_back", "charge_backs", "paid_out", "payouts",
    "fees", "fees_not_known", "net",
)  # fmt: skip
_NO_CHANNELS = {"": "(trial or payout)", NOBODYS: "(orders of nobody)"}
_NO_RECEIVER = {"": "(not divided)"}
_AT_ONCE = 500


def money_csv(money: Money, by: Sequence[By] = DETAIL) -> Iterator[str]:
    """Give the lines, some at a time, the first with the names of the columns.

    The gateway's columns are empty where its books were not compared as a whole.
    """
    named = [each for each in by if each is not By.CURRENCY]
    yield lines(
        [(*named, "currency", *_SUMS, *(f"gateway_{each}" for each in _SUMS), "days", "days_compared", "books")]
    )
    rows = money.rows(*by)
    for first in range(0, len(rows), _AT_ONCE):
        yield lines([_cells(money, named, each) for each in rows[first : first + _AT_ONCE]])


def _cells(money: Money, named: Sequence[By], row: Row) -> Sequence[str]:
    theirs = row.agreement is not Agreement.NOT_COMPARED
    return (
        *(harmless(label(money, each, name)) for each, name in zip(named, row.names, strict=True)),
        harmless(row.currency),
        *_figures(row.ours),
        *(_figures(row.gateway) if theirs else [""] * len(_SUMS)),
        str(row.days),
        str(row.days_compared),
        row.agreement.value,
    )


def label(money: Money, by: By, name: object) -> str:
    """Return how something that sums were made by is called, in English."""
    names = {
        By.ACCOUNT: money.accounts,
        By.RECEIVER: _NO_RECEIVER | dict(money.receivers),
        By.CHANNEL: _NO_CHANNELS,
    }.get(by, {})
    return names.get(str(name), str(name))


def _figures(figures: Figures) -> list[str]:
    said = (
        *(figures.charged, figures.charges, figures.refunded, figures.refunds),
        *(figures.charged_back, figures.charge_backs, figures.paid_out, figures.payouts),
        *(figures.fee, figures.no_fee, figures.net),
    )
    return [format(each, "f") if not isinstance(each, int) else str(each) for each in said]
