"""Everything that is the case in this Saleor, and how to find it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

from app.saleor.testing.defaults import members
from app.saleor.testing.ids import global_id
from app.saleor.testing.records import App, Checkout, Event, EventClock, GrantedRefund, Member, Order, Transaction
from app.saleor.testing.settings import SaleorFaults, SaleorSettings
from app.saleor.testing.signing import SigningKey
from app.saleor.testing.views import ErrorView

_Item = TypeVar("_Item")
Sleep = Callable[[float], Awaitable[None]]


class NotFoundError(LookupError):
    """No such app, checkout, order or transaction."""


@dataclass
class Delivery:
    """A request to an app and what came back. ``status`` is None if nothing came back; ``error`` says why."""

    number: int
    at: datetime
    event: str
    url: str
    headers: list[tuple[str, str]]
    body: str
    attempt: int = 1
    status: int | None = None
    answer: str | None = None
    error: str | None = None
    seconds: float = 0
    unplayed: list[str] = field(default_factory=list)

    @property
    def json(self) -> Any:
        """The answer as JSON value; None if nothing came back or it is no JSON.

        Its numbers are floats, as in Saleor, whose complaints quote them; money becomes Decimal when it is understood.
        """
        if self.status is None:
            return None
        try:
            return json.loads(self.answer or "")
        except ValueError:
            return None


@dataclass
class ArrivedReport:
    """A ``transactionEventReport`` that got past the token check."""

    number: int
    at: datetime
    app_identifier: str | None
    arguments: dict[str, Any]
    already_processed: bool | None = None
    event: Event | None = None
    errors: list[ErrorView] = field(default_factory=list)


class SaleorState:
    """The records of this Saleor, its key, its faults, and the work that goes on in the background."""

    def __init__(
        self, settings: SaleorSettings, clock: Callable[[], datetime] | None = None, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.settings = settings
        self.sleep = sleep
        self.event_clock = EventClock(clock or (lambda: datetime.now(UTC)))
        self._key: SigningKey | None = None
        self.faults = SaleorFaults()
        self.apps: dict[str, App] = {}
        self.members = members()
        self.signed_in: Member | None = next(iter(self.members.values()))
        self.checkouts: dict[str, Checkout] = {}
        self.orders: dict[str, Order] = {}
        self.transactions: dict[str, Transaction] = {}
        self.deliveries: list[Delivery] = []
        self.reports: list[ArrivedReport] = []
        self.app_numbers = count(1)
        self.problem_numbers = count(1)
        self._webhook_numbers = count(1)
        self.order_numbers = count(1)
        self.refund_numbers = count(1)
        self._background: set[asyncio.Task[None]] = set()

    @property
    def key(self) -> SigningKey:
        """The key that signs, made when it is first needed: that takes a while."""
        if self._key is None:
            self._key = SigningKey()
        return self._key

    def rotate_key(self) -> None:
        """Get a new key; the old one vanishes at once, as in Saleor."""
        self._key = SigningKey()

    def forget_traffic(self) -> None:
        """Show no request that was made so far, in either direction; what came of them stays."""
        self.deliveries.clear()
        self.reports.clear()

    def new_webhook_id(self) -> str:
        """Return the global id of the next Webhook."""
        return global_id("Webhook", next(self._webhook_numbers))

    def upgrade(self, version: str) -> None:
        """Become another version in place, as an operator of a Saleor does it: nobody tells the apps."""
        self.settings = self.settings.model_copy(update={"version": version})

    def app(self, identifier: str | None) -> App:
        """Return an installed app by its identifier; None means the only one. Raises NotFoundError."""
        if identifier is None and len(self.apps) == 1:
            return next(iter(self.apps.values()))
        return self._find(self.apps, identifier or "", "app")

    def app_by_id(self, app_id: str) -> App:
        """Return an installed app by its global id; raise NotFoundError."""
        return self._find({app.id: app for app in self.apps.values()}, app_id, "app")

    def app_by_token(self, token: str | None) -> App | None:
        """Return the active app with that token."""
        if not token or self.faults.refuse_token:
            return None
        return next((app for app in self.apps.values() if app.token == token and app.active), None)

    def source(self, source_id: str) -> Checkout | Order:
        """Return a checkout or an order by its global id; raise NotFoundError."""
        found = self.checkouts.get(source_id) or self.orders.get(source_id)
        if found is None:
            raise NotFoundError(_no("checkout or order", source_id))
        return found

    def checkout(self, checkout_id: str) -> Checkout:
        """Return a checkout by its global id; raise NotFoundError."""
        return self._find(self.checkouts, checkout_id, "checkout")

    def order(self, order_id: str) -> Order:
        """Return an order by its global id; raise NotFoundError."""
        return self._find(self.orders, order_id, "order")

    def transaction(self, transaction_id: str) -> Transaction:
        """Return a transaction by its global id; raise NotFoundError."""
        return self._find(self.transactions, transaction_id, "transaction")

    def granted_refund(self, granted_refund_id: str) -> GrantedRefund:
        """Return a granted refund of any order by its global id; raise NotFoundError."""
        granted = {each.id: each for order in self.orders.values() for each in order.granted_refunds}
        return self._find(granted, granted_refund_id, "granted refund")

    @staticmethod
    def _find(among: Mapping[str, _Item], key: str, what: str) -> _Item:
        try:
            return among[key]
        except KeyError as exc:
            raise NotFoundError(_no(what, key)) from exc

    def sign_in(self, email: str, permissions: Sequence[str] | None = None) -> Member:
        """Let somebody use the Dashboard from now on; ``permissions`` change or make them. Raises NotFoundError."""
        if permissions is not None:
            known = self.members.get(email)
            number = len(self.members) + 1
            hired = known or Member(global_id("User", number), email.partition("@")[0].capitalize(), email, ())
            self.members[email] = replace(hired, permissions=tuple(permissions))
        self.signed_in = self._find(self.members, email, "member of staff")
        return self.signed_in

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Let work go on after the caller has his answer."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def background_done(self) -> None:
        """Return when nothing goes on in the background any more; raise what went wrong there."""
        while self._background:
            await asyncio.gather(*self._background)

    async def stop(self) -> None:
        """Drop the background work."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)


def _no(what: str, key: str) -> str:
    return f"This Saleor has no {what} {key!r}."
