"""The list of a store's payments: the newest first, page by page, those that staff look for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.dashboard.payments.filter import Filter
from app.db.aggregates import PaymentAggregate, outlines_of, row_by_order
from app.db.search import Wanted, channels_of, payments_page
from app.db.tables import State
from app.i18n.messages import gettext_noop
from app.payments.core.details import Details, means_of
from app.payments.core.problems import problem_messages
from app.payments.services import Services
from app.payments.staff.search_query import narrowed
from app.payments.staff.status import Standing, standings

A_PAGE = 25

STATES: Mapping[State, str] = {
    State.INIT: gettext_noop("something waits for the shopper"),
    State.PENDING: gettext_noop("something is pending at the bank"),
    State.UNKNOWN: gettext_noop("something has an unknown outcome"),
    State.WAITING: gettext_noop("something waits for its turn"),
    State.INTENT: gettext_noop("something is being asked"),
    State.SUCCESS: gettext_noop("something succeeded"),
    State.FAILURE: gettext_noop("something failed"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One payment of the list. ``means``: the card, or the name of another way to pay, if known."""

    aggregate: PaymentAggregate
    standings: tuple[Standing, ...]
    means: str | None

    @property
    def problems(self) -> Sequence[str]:
        """What somebody must look at, in words."""
        return problem_messages(self.aggregate.payment)


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


async def read_list(services: Services, installation_id: int, chosen: Filter) -> PaymentList:
    """Return a page of the payments of that store, and of no other."""
    wanted = wanted_by(services, installation_id, chosen)
    accounts = await services.accounts.all()
    async with services.database.transaction() as session:
        last = await row_by_order(session, chosen.after, installation_id=installation_id) if chosen.after else None
        found = await payments_page(session, wanted, most=A_PAGE + 1, after=last)
        aggregates = await outlines_of(session, found[:A_PAGE])
        channels = await channels_of(session, installation_id)
    more = len(found) > A_PAGE
    return PaymentList(
        rows=[_row(each) for each in aggregates],
        chosen=chosen,
        newest=chosen.first_page if chosen.after else None,
        older=replace(chosen, after=aggregates[-1].payment.order_id) if more else None,
        states=STATES,
        channels=[(each, each) for each in channels],
        accounts=[(each.id, each.name) for each in accounts if each.installation_id == installation_id],
    )


def wanted_by(services: Services, installation_id: int, chosen: Filter) -> Wanted:
    """Return for the database what staff of that store look for."""
    return narrowed(chosen.wanted(installation_id), chosen.typed, services.emails, [installation_id])


def _row(aggregate: PaymentAggregate) -> Row:
    said = Details.kept(aggregate.create.details)
    return Row(aggregate, standings(aggregate), means_of(said.card_mask, said.payway))
