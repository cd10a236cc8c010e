"""The list of a store's payments: the newest first, page by page, those that staff look for."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urlencode
from uuid import UUID

from app.dashboard.translation import marked
from app.ledger.search import Wanted, payments_page
from app.ledger.sheets import Sheet, find_by_order, sheets_of
from app.ledger.tables import State
from app.payments.desk import Desk
from app.payments.standing import Standing, standings

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
class Filter:
    """What staff look for. ``after`` is the gateway order with which the page before ended; "" for the first page."""

    search: str = ""
    state: State | None = None
    problems: bool = False
    after: str = ""

    @classmethod
    def of(cls, said: Mapping[str, str]) -> "Filter":
        """Return what an address says; what cannot be meant is left out."""
        state = said.get("state", "")
        return cls(
            search=said.get("search", "").strip()[:100],
            state=State(state) if state in set(State) else None,
            problems=bool(said.get("problems")),
            after=said.get("after", ""),
        )

    def path(self) -> str:
        """Return the address of the list that shows it, below the app's own."""
        said = {
            "search": self.search,
            "state": self.state.value if self.state else "",
            "problems": "1" if self.problems else "",
            "after": self.after,
        }
        query = urlencode({name: value for name, value in said.items() if value})
        return f"/payments?{query}" if query else "/payments"

    @property
    def names(self) -> str | None:
        """What is searched for as the ledger has it: no # before numbers, no dashes in a transaction's UUID."""
        with suppress(ValueError):
            return UUID(self.search).hex
        return self.search.removeprefix("#") or None


@dataclass(frozen=True, slots=True)
class Row:
    """One payment of the list."""

    sheet: Sheet
    standings: tuple[Standing, ...]


@dataclass(frozen=True)
class PaymentList:
    """A page of the list. ``newest`` and ``older`` are the addresses of other pages; None where there is none."""

    rows: list[Row]
    search: str
    chosen_state: State | None
    problems: bool
    filtered: bool
    newest: str | None
    older: str | None
    states: Mapping[State, str]


async def read_list(desk: Desk, installation_id: int, wanted: Filter) -> PaymentList:
    """Return a page of the payments of that store, and of no other."""
    conditions = Wanted(
        installation_id=installation_id, problems=wanted.problems, state=wanted.state, search=wanted.names
    )
    async with desk.database.transaction() as session:
        last = None
        if wanted.after:
            last = await find_by_order(session, wanted.after, installation_id=installation_id)
        after = last.payment.id if last else None
        found = await payments_page(session, conditions, most=A_PAGE + 1, after=after)
        sheets = await sheets_of(session, found[:A_PAGE])
    more = len(found) > A_PAGE
    return PaymentList(
        rows=[Row(each, standings(each)) for each in sheets],
        search=wanted.search,
        chosen_state=wanted.state,
        problems=wanted.problems,
        filtered=wanted != Filter(),
        newest=replace(wanted, after="").path() if wanted.after else None,
        older=replace(wanted, after=sheets[-1].payment.order_id).path() if more else None,
        states=STATES,
    )
