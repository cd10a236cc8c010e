"""What of a store needs a person now: one item for each cause and merchant account, not one for each payment.

====================  ===========================================================  ==================================
item                  while                                                        gone when
====================  ===========================================================  ==================================
``INSTALLATION``      Saleor has given a token that it does not take yet           the app is activated
``UNAUTHORISED``      Saleor does not let the app in                              it does again
``UNOPENED``          no secret key of ours opens an account's keys                the key is back in the key file
``KEYS``              the gateway refuses an account's keys                        it accepts them
``ADDRESS``           something else answers at an account's address               the gateway answers there
``UNDELIVERED``       Saleor has not taken an event for ``PATIENCE``               it takes them
``REFUSED``           Saleor refuses an event for good                             it takes it, or somebody has looked
``DISPUTE``           a payer disputes a payment, or has won                       it has ended, and somebody has looked
``MISMATCH``          the gateway's word does not agree                            it has ended, and somebody has looked
``DIFFERENCE``        our books and the gateway's differ                           they agree, or somebody has looked
``PAID_TWICE``        several payments pay the same                                enough is given back, or ... looked
``WAITING``           an outcome is not known for a day                            it is known
``SEALED``            no key of ours opens a notification                          the key is back, or ... looked
``FAILED``            a notification cannot be processed for ``PATIENCE``          it is processed, or ... looked
``UNREADABLE``        the gateway has signed what we do not understand             somebody has looked
``UNMATCHED``         the gateway tells of an order that we do not know            it is found later, or ... looked
``UNKNOWN_ORDERS``    the gateway's books have paid orders that we do not know     somebody has looked
``NOT_COMPARED``      the books could not be compared last night                   they can be
====================  ===========================================================  ==================================
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.db.attention import (
    MOST_COUNTED,
    CountedNotifications,
    Undelivered,
    accounts_of,
    troubles_counted,
    undelivered,
)
from app.db.inbox import Trouble
from app.db.installations import OpenInstallation
from app.db.problems import CountedProblems, problems_counted
from app.db.reconciliations import CountedOrders, last_ended, orders_of_nobody
from app.db.tables import MerchantAccount, ProblemKind, ReconciliationRun, RunState
from app.db.vault import VaultError
from app.i18n.messages import LazyMessage
from app.payments.services import Services

PATIENCE = timedelta(minutes=15)
"""For so long Saleor may be away, or a notification be tried again, without anybody being told."""


class AlertKind(StrEnum):
    """What an item is about, the most pressing first."""

    INSTALLATION = "installation"
    UNAUTHORISED = "unauthorised"
    UNOPENED = "unopened"
    KEYS = "keys"
    ADDRESS = "address"
    UNDELIVERED = "undelivered"
    REFUSED = "refused"
    DISPUTE = "dispute"
    MISMATCH = "mismatch"
    DIFFERENCE = "difference"
    PAID_TWICE = "paid twice"
    WAITING = "waiting"
    SEALED = "sealed"
    FAILED = "failed"
    UNREADABLE = "unreadable"
    UNMATCHED = "unmatched"
    UNKNOWN_ORDERS = "unknown-orders"
    NOT_COMPARED = "not-compared"


OF_PAYMENTS = {
    each: ProblemKind(each)
    for each in (
        AlertKind.REFUSED,
        AlertKind.DISPUTE,
        AlertKind.MISMATCH,
        AlertKind.DIFFERENCE,
        AlertKind.PAID_TWICE,
        AlertKind.WAITING,
    )
}
"""Items of which each payment is a task of its own."""

OF_ACCOUNTS = (AlertKind.UNOPENED, AlertKind.KEYS, AlertKind.ADDRESS, AlertKind.NOT_COMPARED)
"""Items of which the merchant account is the task, however many payments they hinder."""

OF_NOTIFICATIONS = {
    each: Trouble(each) for each in (AlertKind.SEALED, AlertKind.FAILED, AlertKind.UNREADABLE, AlertKind.UNMATCHED)
}


@dataclass(frozen=True, slots=True)
class Item:
    """Something that needs a person, for ``account_id`` of the store, or for the store as a whole (None).

    ``count``: payments, events or notifications that it is about; ``more``: there are more than that. ``since``: the
    oldest of them. ``detail``: what was last said, for staff.
    """

    what: AlertKind
    account_id: str | None = None
    account: str | None = None
    count: int = 1
    more: bool = False
    since: datetime | None = None
    detail: str | None = None

    @property
    def key(self) -> str:
        """Return what this very item is known by as long as it is open: what, and of which account."""
        return f"{self.what.value}:{self.account_id or 'store'}"

    @property
    def tasks(self) -> int:
        """Return how often somebody has to do something about it."""
        return self.count if self.what in OF_PAYMENTS or self.what in OF_NOTIFICATIONS else 1


async def open_items(services: Services, installation: OpenInstallation) -> list[Item]:
    """Return what needs a person in that store, the most pressing first; six queries, however much it is."""
    patient_until = services.now() - PATIENCE
    async with services.database.transaction() as session:
        rows = await accounts_of(session, installation.id)
        accounts = {each.id: each.name for each in rows}
        problems = await problems_counted(session, installation.id)
        troubles = await troubles_counted(session, list(accounts), failing_since=patient_until)
        events = await undelivered(session, installation.id, before=patient_until)
        of_nobody = await orders_of_nobody(session, list(accounts))
        compared = await last_ended(session, list(accounts))
    found = [*_unopened(services, rows), *_of_payments(problems, accounts), *_of_notifications(troubles, accounts)]
    found += [*_of_books(of_nobody, accounts), *_not_compared(compared.values(), accounts)]
    if not installation.verified and not installation.shut_out:  # what strangers bring to one that works is no news
        found.append(Item(AlertKind.INSTALLATION))
    elif installation.unauthorised_since is not None:
        found.append(Item(AlertKind.UNAUTHORISED, since=installation.unauthorised_since))
    if events is not None:
        found.append(_of_saleor(events))
    order = list(AlertKind)
    return sorted(found, key=lambda each: (order.index(each.what), each.account or ""))


def tasks(items: Iterable[Item]) -> int:
    """Return how many things there are to do."""
    return sum(each.tasks for each in items)


def _unopened(services: Services, accounts: Iterable[MerchantAccount]) -> Iterable[Item]:
    """Of accounts that are in use: with keys that do not open nothing can be sent, looked up or verified."""
    for each in accounts:
        try:
            services.accounts.keys(each)
        except VaultError:
            if each.enabled:
                yield Item(AlertKind.UNOPENED, each.id, each.name)


def _of_payments(problems: Sequence[CountedProblems], accounts: dict[str, str]) -> Iterable[Item]:
    for each in problems:
        what = AlertKind(each.kind)
        if what in OF_ACCOUNTS or what in OF_PAYMENTS:  # a notification that no key opens is counted as such
            yield Item(what, each.account_id, accounts[each.account_id], count=each.count, since=each.since)


def _of_notifications(troubles: Sequence[CountedNotifications], accounts: dict[str, str]) -> Iterable[Item]:
    for each in troubles:
        what = AlertKind(each.trouble)
        yield Item(what, each.account_id, accounts[each.account_id], count=each.count, since=each.since)


def _of_books(orders: Sequence[CountedOrders], accounts: dict[str, str]) -> Iterable[Item]:
    for each in orders:
        name = accounts[each.account_id]
        yield Item(AlertKind.UNKNOWN_ORDERS, each.account_id, name, count=each.count, since=each.since)


def _not_compared(ended: Iterable[ReconciliationRun], accounts: dict[str, str]) -> Iterable[Item]:
    for each in ended:
        if each.state is RunState.FAILED:
            why = None if each.failure is None else LazyMessage.of(each.failure)
            since = each.covered_until or each.starts_at
            yield Item(AlertKind.NOT_COMPARED, each.account_id, accounts[each.account_id], since=since, detail=why)


def _of_saleor(events: Undelivered) -> Item:
    more = events.count > MOST_COUNTED
    return Item(
        AlertKind.UNDELIVERED,
        count=min(events.count, MOST_COUNTED),
        more=more,
        since=events.since,
        detail=events.last_error,
    )
