"""Builds the list of a store's payments: filtered, paginated, the newest first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from app.core.payment import PaymentAggregate
from app.core.vocabulary import PaymentStatus
from app.i18n.messages import StoredMessage, gettext_noop
from app.reports.search_query import narrow
from app.reports.status import ShownAmount, Standing, failure_reason, shown_amount, standings
from app.rules.balance import ZERO
from app.rules.details import Details, payment_means_text
from app.rules.problems import problem_messages
from app.services import Services
from app.store.aggregates import find_payment_by_order, load_outlines
from app.store.search import MAX_COUNTED, FoundSums, PaymentFilter, channels_of, payments_page, sum_payments
from app.web.dashboard.payments.filter import Filter
from app.web.dashboard.projects import test_ids
from app.web.dashboard.renderer import ATTENTION

PAGE_SIZE = 25

STATUSES: Mapping[PaymentStatus, str] = {
    PaymentStatus.PAID: gettext_noop("Paid"),
    PaymentStatus.AUTHORIZED: gettext_noop("Authorized"),
    PaymentStatus.PENDING: gettext_noop("Pending"),
    PaymentStatus.FAILED: gettext_noop("Failed"),
    PaymentStatus.REFUNDED: gettext_noop("Refunded"),
    PaymentStatus.CANCELED: gettext_noop("Cancelled"),
}
_ALL = gettext_noop("All")


@dataclass(frozen=True, slots=True)
class Chip:
    """One way to narrow the list: its name in English, the filter that it applies, and the number of matches.

    ``more``: there are more than were counted.
    """

    name: str
    shows: Filter
    count: int
    more: bool
    chosen: bool


@dataclass(frozen=True, slots=True)
class ListedPayment:
    """One payment of the list. ``means``: the card, or the name of another way to pay, if known.

    ``reason``: why nothing was paid.
    """

    aggregate: PaymentAggregate
    amount: ShownAmount
    standings: tuple[Standing, ...]
    means: str | None
    reason: StoredMessage | None
    is_test: bool

    @property
    def problems(self) -> Sequence[str]:
        """The texts of the problems that a person must look at."""
        return problem_messages(self.aggregate.payment)


@dataclass(frozen=True, slots=True)
class ListedSum:
    """What has moved with all matching payments, trials or test payments in one currency."""

    currency: str
    trial: bool
    is_test: bool
    charged: Decimal
    refunded: Decimal
    charged_back: Decimal

    @property
    def left(self) -> Decimal:
        """What the store still has of it."""
        return self.charged - self.refunded - self.charged_back


@dataclass(frozen=True)
class PaymentList:
    """A page of the list. ``newest`` and ``older`` are the filters of other pages; None where there is none.

    ``chips`` are the ways to narrow it, ``totals`` the sums of all matches by currency, trials and test projects apart;
    ``many``: there are more than are counted. ``channels`` and ``accounts`` are the choices of the filter, each with
    its display name.
    """

    rows: list[ListedPayment]
    chosen: Filter
    newest: Filter | None
    older: Filter | None
    chips: Sequence[Chip]
    found: int
    totals: Sequence[ListedSum]
    many: bool
    channels: Sequence[tuple[str, str]]
    accounts: Sequence[tuple[str, str]]


async def read_list(services: Services, installation_id: int, chosen: Filter) -> PaymentList:
    """Return a page of the payments of that store only."""
    criteria = search_criteria(services, installation_id, chosen)
    accounts = await services.accounts.all()
    async with services.database.transaction() as session:
        last = (
            await find_payment_by_order(session, chosen.after, installation_id=installation_id)
            if chosen.after
            else None
        )
        found = await payments_page(session, criteria, most=PAGE_SIZE + 1, after=last)
        aggregates = await load_outlines(session, found[:PAGE_SIZE])
        channels = await channels_of(session, installation_id)
        sums = await sum_payments(session, replace(criteria, status=None, problems=False))
        in_review = await sum_payments(session, replace(criteria, status=None, problems=True))
    more = len(found) > PAGE_SIZE
    tests = test_ids(accounts)
    return PaymentList(
        rows=[_row(aggregate, tests) for aggregate in aggregates],
        chosen=chosen,
        newest=chosen.first_page if chosen.after else None,
        older=replace(chosen, after=aggregates[-1].payment.order_id) if more else None,
        chips=_chips(chosen, sums, in_review),
        **_totals(chosen, in_review if chosen.problems else sums, tests),
        channels=[(channel, channel) for channel in channels],
        accounts=[(account.id, account.name) for account in accounts if account.installation_id == installation_id],
    )


def search_criteria(services: Services, installation_id: int, chosen: Filter) -> PaymentFilter:
    """Return the database criteria of a filter that staff of that store have chosen."""
    return narrow(chosen.criteria(installation_id), chosen.typed, services.emails, [installation_id])


def _row(aggregate: PaymentAggregate, tests: Collection[str]) -> ListedPayment:
    create = aggregate.create
    details = Details.from_row(create.details)
    payment = aggregate.payment
    means = payment_means_text(payment.saved_card_mask or details.card_mask, details.payway, payment.wallet)
    is_test = payment.account_id in tests
    return ListedPayment(
        aggregate, shown_amount(aggregate), standings(aggregate), means, failure_reason(create), is_test
    )


def _chips(chosen: Filter, sums: FoundSums, in_review: FoundSums) -> list[Chip]:
    unfiltered = chosen.status is None and not chosen.problems
    chips = [Chip(_ALL, chosen.only(), min(sums.count(), MAX_COUNTED), sums.more, unfiltered)]
    for status, name in STATUSES.items():
        chosen_status = chosen.status is status and not chosen.problems
        chips.append(Chip(name, chosen.only(status), min(sums.count(status), MAX_COUNTED), sums.more, chosen_status))
    review = Chip(
        ATTENTION.name,
        chosen.only(problems=True),
        min(in_review.count(), MAX_COUNTED),
        in_review.more,
        chosen.problems,
    )
    return [*chips, review]


def _totals(chosen: Filter, sums: FoundSums, tests: Collection[str]) -> dict[str, Any]:
    found = [part for part in sums.all if chosen.status in {None, part.status}]
    by_kind: dict[tuple[str, bool, bool], ListedSum] = {}
    for part in found:
        kind = (part.currency, part.trial, part.account_id in tests)
        so_far = by_kind.get(kind, ListedSum(*kind, ZERO, ZERO, ZERO))
        by_kind[kind] = replace(
            so_far,
            charged=so_far.charged + part.charged,
            refunded=so_far.refunded + part.refunded,
            charged_back=so_far.charged_back + part.charged_back,
        )
    moved = (total for total in by_kind.values() if total.charged or not total.trial)
    totals = sorted(moved, key=lambda total: (total.is_test, total.trial))
    return {"found": sum(part.count for part in found), "totals": totals, "many": sums.more}
