"""The money of a period as rows for spreadsheets, for accountants: our figures and the gateway's in one row.

Days are those of UTC. It holds no data of shoppers.
"""

from collections.abc import AsyncIterator, Sequence

from app.i18n.messages import gettext_noop
from app.i18n.translation import ENGLISH, Translation, translation
from app.reports.money import Agreement, Figures, GroupBy, MoneyReport, MoneyRow
from app.reports.sheet import Cell, Row, SheetStyle, project
from app.store.day_sums import UNKNOWN_CHANNEL

DEFAULT_GROUPING = (GroupBy.DAY, GroupBy.ACCOUNT, GroupBy.CHANNEL)
"""The default grouping of the rows of a file."""

SUB_MERCHANT_GROUPING = (GroupBy.DAY, GroupBy.RECEIVER)
"""The grouping in a marketplace's file."""

_NAMES = {
    GroupBy.DAY: gettext_noop("Day"),
    GroupBy.ACCOUNT: gettext_noop("Merchant account"),
    GroupBy.CHANNEL: gettext_noop("Channel"),
    GroupBy.RECEIVER: gettext_noop("Sub-merchant"),
}
_FIGURES = (
    gettext_noop("Charged"), gettext_noop("Number of charges"), gettext_noop("Refunded"),
    gettext_noop("Number of refunds"), gettext_noop("Charged back"), gettext_noop("Number of chargebacks"),
    gettext_noop("Paid out"), gettext_noop("Number of payouts"), gettext_noop("Fees"),
    gettext_noop("Number of fees not reported"), gettext_noop("Net"),
)  # fmt: skip
_LAST = (gettext_noop("Number of days"), gettext_noop("Days compared"), gettext_noop("Our records and the gateway’s"))
_THE_GATEWAYS = gettext_noop("the gateway’s")
_TRIALS = gettext_noop("Trials")
_NO_CHANNELS = {"": gettext_noop("(trial or payout)"), UNKNOWN_CHANNEL: gettext_noop("(orders of nobody)")}
_NO_RECEIVER = {"": gettext_noop("(not divided)")}


async def money_batches(money: MoneyReport, by: Sequence[GroupBy], style: SheetStyle) -> AsyncIterator[Sequence[Row]]:
    """Yield all rows at once, as files of more are written."""
    yield money_rows(money, by, style)


def money_rows(money: MoneyReport, by: Sequence[GroupBy], style: SheetStyle) -> list[Row]:
    """Return the rows, the first with the headings.

    The gateway's cells are empty where its books were not compared completely.
    """
    said = style.language.gettext
    named = [group for group in by if group is not GroupBy.CURRENCY]
    figures = [said(figure) for figure in _FIGURES]
    headings = [
        *(f"{said(_NAMES[group])} (UTC)" if group is GroupBy.DAY else said(_NAMES[group]) for group in named),
        *([said(gettext_noop("Project"))] if GroupBy.ACCOUNT in named else []),
        said("Currency"),
        *figures,
        *(f"{figure} ({said(_THE_GATEWAYS)})" for figure in figures),
        *map(said, (*_LAST, _TRIALS)),
    ]
    return [
        headings,
        *(_cells(money, named, row, is_trial, style.language) for row, is_trial in money.rows_and_trials(*by)),
    ]


def _cells(money: MoneyReport, named: Sequence[GroupBy], row: MoneyRow, is_trial: bool, language: Translation) -> Row:
    account = [group for group in named if group is GroupBy.ACCOUNT]
    is_compared = row.agreement is not Agreement.NOT_COMPARED
    return (
        *(
            name if group is GroupBy.DAY else _file_label(money, group, name, language)
            for group, name in zip(named, row.names, strict=True)
        ),
        *(language.gettext(project(row.names[named.index(group)] in money.tests)) for group in account),
        row.currency,
        *_figures(row.ours),
        *(_figures(row.gateway) if is_compared else [None] * len(_FIGURES)),
        row.days,
        row.days_compared,
        language.gettext(row.agreement.value),
        language.gettext(_TRIALS) if is_trial else "",
    )


def _file_label(money: MoneyReport, by: GroupBy, name: object, language: Translation) -> str:
    """Return the label of a value in a file, in which a column of its own marks trials."""
    return "" if by is GroupBy.CHANNEL and name == "" else label(money, by, name, language)


def label(money: MoneyReport, by: GroupBy, name: object, language: Translation | None = None) -> str:
    """Return the label of a value that sums are grouped by; in English unless told otherwise."""
    said = (language or translation(ENGLISH)).gettext
    names = {
        GroupBy.ACCOUNT: money.accounts,
        GroupBy.RECEIVER: {who: said(words) for who, words in _NO_RECEIVER.items()} | dict(money.receivers),
        GroupBy.CHANNEL: {channel: said(words) for channel, words in _NO_CHANNELS.items()},
    }.get(by, {})
    return names.get(str(name), str(name))


def _figures(figures: Figures) -> list[Cell]:
    return [
        *(figures.charged, figures.charges, figures.refunded, figures.refunds),
        *(figures.charged_back, figures.charge_backs, figures.paid_out, figures.payouts),
        *(figures.fee, figures.no_fee, figures.net),
    ]
