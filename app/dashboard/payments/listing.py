"""The list of a store's payments: the newest first, page by page, those that staff look for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.dashboard.payments.filter import Filter
from app.dashboard.translation import marked
from app.ledger.search import Wanted, channels_of, payments_page
from app.ledger.sheets import Sheet, outlines_of, row_by_order
from app.ledger.tables import State
from app.payments.desk import Desk
from app.payments.outcome.particulars import Particulars
from app.payments.outcome.problems import open_problems
from app.payments.show.standing import Standing, standings
from app.payments.show.typed_search import narrowed

A_PAGE = 25

STATES: Mapping[State, str] = {
    State.INIT: marked("something waits for the shopper"),
    State.PENDING: marked("something is pending at the bank"),
    State.UNKNOWN: marked("something has an unknown outcome"),
    State.WAITING: marked("something waits for its turn"),
    State.INTENT: marked("something is being asked"),
    State.SUCCESS: marked("something succeeded"),
    State.FAILURE: marked("something failed"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One payment of the list. ``means``: the card's mask, or the name of another way to pay, if known."""

    sheet: Sheet
    standings: tuple[Standing, ...]
    means: str | None

    @property
    def problems(self) -> list[str]:
        """What somebody must look at, in words."""
        return list(open_problems(self.sheet.payment).values())


@dataclass(frozen=True)
class PaymentList:
    """A page of the list. ``newest`` and ``older`` are what other pages show; None where there is none.

    ``channels`` and ``accounts`` are what can be chosen, each with its name for people.
    """

    rows: list[Row]
    chosen: Filter
    newest: Filter | None
    older: Filter | None
    states: Mapping[State, str]
    channels: Sequence[tuple[str, str]]
    accounts: Sequence[tuple[str, str]]


async def read_list(desk: Desk, installation_id: int, chosen: Filter) -> PaymentList:
    """Return a page of the payments of that store, and of no other."""
    wanted = wanted_by(desk, installation_id, chosen)
    accounts = await desk.accounts.all()
    async with desk.database.transaction() as session:
        last = await row_by_order(session, chosen.after, installation_id=installation_id) if chosen.after else None
        found = await payments_page(session, wanted, most=A_PAGE + 1, after=last)
        sheets = await outlines_of(session, found[:A_PAGE])
        channels = await channels_of(session, installation_id)
    more = len(found) > A_PAGE
    return PaymentList(
        rows=[_row(each) for each in sheets],
        chosen=chosen,
        newest=chosen.first_page if chosen.after else None,
        older=replace(chosen, after=sheets[-1].payment.order_id) if more else None,
        states=STATES,
        channels=[(each, each) for each in channels],
        accounts=[(each.id, each.name) for each in accounts if each.installation_id == installation_id],
    )


def wanted_by(desk: Desk, installation_id: int, chosen: Filter) -> Wanted:
    """Return for the ledger what staff of that store look for."""
    return narrowed(chosen.wanted(installation_id), chosen.typed, desk.emails, [installation_id])


def _row(sheet: Sheet) -> Row:
    said = Particulars.kept(sheet.create.particulars)
    return Row(sheet, standings(sheet), said.card_mask or said.payway)
