"""The state of this Saleor, and look-ups in it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

from saleor_app_sdk.testing.defaults import members
from saleor_app_sdk.testing.ids import global_id
from saleor_app_sdk.testing.records import App, Checkout, Event, EventClock, GrantedRefund, Member, Order, Transaction
from saleor_app_sdk.testing.settings import SaleorFaults, SaleorSettings
from saleor_app_sdk.testing.signing import SigningKey
from saleor_app_sdk.testing.views import ErrorView

_Item = TypeVar("_Item")
Sleep = Callable[[float], Awaitable[None]]


class NotFoundError(LookupError):
    """No such app, checkout, order or transaction."""


class PermissionDeniedError(Exception):
    """The token is missing, unknown, revoked, or lacks the permission."""

    def __init__(self, *permissions: str) -> None:
        super().__init__(f"To access this path, you need one of the following permissions: {', '.join(permissions)}")


@dataclass
class Delivery:
    """A request to an app and its response. ``status`` is None if there was no response; ``error`` gives the reason."""

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
        """The response as a JSON value; None if there was no response or it is not JSON.

        Numbers are floats, as in Saleor, whose error messages quote them; money becomes Decimal when it is parsed.
        """
        if self.status is None:
            return None
        try:
            return json.loads(self.answer or "")
        except ValueError:
            return None


@dataclass
class ReceivedReport:
    """A ``transactionEventReport`` that passed the token check."""

    number: int
    at: datetime
    app_identifier: str | None
    arguments: dict[str, Any]
    already_processed: bool | None = None
    event: Event | None = None
    errors: list[ErrorView] = field(default_factory=list)


class SaleorState:
    """The records of this Saleor, its signing key, its faults, and its background tasks."""

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
        self._customers: dict[str, str] = {}
        self.checkouts: dict[str, Checkout] = {}
        self.orders: dict[str, Order] = {}
        self.transactions: dict[str, Transaction] = {}
        self.deliveries: list[Delivery] = []
        self.reports: list[ReceivedReport] = []
        self.app_numbers = count(1)
        self.problem_numbers = count(1)
        self._webhook_numbers = count(1)
        self.order_numbers = count(1)
        self.refund_numbers = count(1)
        self._background: set[asyncio.Task[None]] = set()

    @property
    def key(self) -> SigningKey:
        """The signing key, generated when it is first needed, because that takes a while."""
        if self._key is None:
            self._key = SigningKey()
        return self._key

    def rotate_key(self) -> None:
        """Replace the signing key; the old one is gone at once, as in Saleor."""
        self._key = SigningKey()

    def clear_traffic(self) -> None:
        """Clear the recorded requests in both directions; their effects stay."""
        self.deliveries.clear()
        self.reports.clear()

    def new_webhook_id(self) -> str:
        """Return the global id of the next Webhook."""
        return global_id("Webhook", next(self._webhook_numbers))

    def upgrade(self, version: str) -> None:
        """Change the version in place, as an operator of a Saleor does: the apps are not notified."""
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
        """Return the active app with that token; None if there is none."""
        if not token or self.faults.refuse_token:
            return None
        return next((app for app in self.apps.values() if app.token == token and app.active), None)

    def customer_token(self, user_id: str) -> str:
        """Sign a customer in; return the access token that storefronts send as theirs."""
        issued_at = int(self.event_clock.now().timestamp())
        claims = {"iat": issued_at, "exp": issued_at + 300, "owner": "saleor", "type": "access", "is_staff": False}
        token = self.key.token(claims | {"iss": self.settings.public_url, "user_id": user_id})
        self._customers[token] = user_id
        return token

    def customer_by_token(self, token: str | None) -> str | None:
        """Return the global id of the customer with that access token; None if there is none."""
        return self._customers.get(token or "")

    def source(self, source_id: str) -> Checkout | Order:
        """Return a checkout or an order by its global id; raise NotFoundError."""
        found = self.checkouts.get(source_id) or self.orders.get(source_id)
        if found is None:
            raise NotFoundError(_not_found_message("checkout or order", source_id))
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
        granted = {refund.id: refund for order in self.orders.values() for refund in order.granted_refunds}
        return self._find(granted, granted_refund_id, "granted refund")

    @staticmethod
    def _find(among: Mapping[str, _Item], key: str, what: str) -> _Item:
        try:
            return among[key]
        except KeyError as exc:
            raise NotFoundError(_not_found_message(what, key)) from exc

    def sign_in(self, email: str, permissions: Sequence[str] | None = None) -> Member:
        """Sign a member of staff in; with ``permissions`` they are created or changed first. Raises NotFoundError."""
        if permissions is not None:
            known = self.members.get(email)
            number = len(self.members) + 1
            member = known or Member(global_id("User", number), email.partition("@")[0].capitalize(), email, ())
            self.members[email] = replace(member, permissions=tuple(permissions))
        self.signed_in = self._find(self.members, email, "member of staff")
        return self.signed_in

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a background task that outlives the current request."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def wait_for_background(self) -> None:
        """Wait until all background tasks have ended; raise the error of one that failed."""
        while self._background:
            await asyncio.gather(*self._background)

    async def stop(self) -> None:
        """Cancel the background tasks."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)


def _not_found_message(what: str, key: str) -> str:
    return f"This Saleor has no {what} {key!r}."
