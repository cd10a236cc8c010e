"""What everything in this room works with: the books, the gateway's clients, the addresses, the clock."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias
from urllib.parse import quote

import httpx2

from app.db.accounts import AccountRepository
from app.db.aggregates import ATTEMPTS, POLLS, PaymentAggregate
from app.db.blind_index import BlindIndex
from app.db.card_keys import CardKeyRepository
from app.db.database import Database
from app.db.inbox import Inbox
from app.db.installations import InstallationRepository
from app.db.job_queue import JobQueue
from app.db.latest_cache import LatestCache
from app.db.outbox import EVENTS
from app.db.personal import PersonalData
from app.db.repository import PaymentRepository
from app.db.retention import Retention
from app.db.saved_cards import SavedCards
from app.db.sealed_values import SealedValues
from app.db.tables import MerchantAccount
from app.gateway.client import GatewayClient
from app.gateway.credentials import Credentials
from app.gateway.errors import GatewayError
from app.gateway.models import Sector
from app.gateway.models.accounts import BalanceAccount
from app.payments.core.apply import Posting
from app.payments.core.schedule import Schedule
from app.saleor.limits import usable_link
from app.server_clock import Difference, compare_clock

_BETWEEN_COMPARISONS = timedelta(minutes=1)

BalanceCache: TypeAlias = LatestCache[tuple[str, datetime], tuple[BalanceAccount, ...], GatewayError]
"""What the gateway said last of the balances of accounts, by their ids and when they were changed."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the outside finds us, without a trailing slash: ``base_url`` for servers and shoppers.

    ``iframe_base_url`` is for the browsers of staff; the same when None.
    """

    base_url: str
    iframe_base_url: str | None = None

    def notifications(self, account_id: str) -> str:
        """Return where the gateway notifies us of an account's payments."""
        return f"{self.base_url}/api/webhooks/gateway/{account_id}"

    def pay_page(self, order_id: str) -> str:
        """Return the page from which a customer who was sent a link goes on to pay."""
        return f"{self.base_url}/pay/{order_id}"

    def return_page(self, order_id: str) -> str:
        """Return where the gateway sends the shopper back."""
        return f"{self.base_url}/pay/return/{order_id}"

    def payment_page(self, saleor_api_url: str, order_id: str) -> str | None:
        """Return where staff see a payment: Saleor's ``externalUrl``. None when Saleor would not take the address.

        It names the store, so that somebody who opens it outside the Dashboard can be led there; where that makes it
        too long for Saleor, it does not.
        """
        page = f"{self.iframe_base_url or self.base_url}/payments/{order_id}"
        return usable_link(f"{page}?saleorApiUrl={quote(saleor_api_url, safe=':/')}") or usable_link(page)


class Gateways:
    """One client for each merchant account, all over the process's one pool of connections."""

    def __init__(self, http: httpx2.AsyncClient, accounts: AccountRepository) -> None:
        self._http = http
        self._accounts = accounts
        self._clients: dict[str, tuple[datetime, GatewayClient]] = {}
        self._compared: dict[str, datetime] = {}

    def credentials(self, account: MerchantAccount) -> Credentials:
        """Return the account's opened credentials. Raises VaultError."""
        keys = self._accounts.keys(account)
        return Credentials(
            pos_id=account.pos_id,
            api_key=keys.api_key,
            api_secret=keys.api_secret,
            endpoints_key=keys.endpoints_key,
            base_url=account.base_url,
            scheme_word=account.scheme_word,
            previous_api_secrets=(keys.previous_api_secret,) if keys.previous_api_secret else (),
            balances_url=account.balances_url,
            register_url=account.register_url,
        )

    def trial(self, untried: Credentials) -> GatewayClient:
        """Return a client for credentials that are not kept yet."""
        return GatewayClient(self._http, untried)

    def client(self, account: MerchantAccount) -> GatewayClient:
        """Return the account's client; a changed account gets a new one. Raises VaultError."""
        known = self._clients.get(account.id)
        if known is None or known[0] != account.updated_at:
            client = GatewayClient(self._http, self.credentials(account), sector=Sector(account.sector))
            known = (account.updated_at, client)
            self._clients[account.id] = known
        return known[1]

    async def compare_clock(
        self, account: MerchantAccount, now: Callable[[], datetime], *, within: float
    ) -> Difference | None:
        """Compare the clock of an account's gateway with ours, without showing it a key; see ``compare_clock``."""
        return await compare_clock(self._http, account.base_url, now, within=within)

    def time_to_compare(self, account_id: str, now: datetime) -> bool:
        """Return True once a minute: then what the gateway accepts is compared with what is recorded of an account."""
        last = self._compared.get(account_id)
        if last is not None and now < last + _BETWEEN_COMPARISONS:
            return False
        self._compared[account_id] = now
        return True


class Notifier(Protocol):
    """Tells a worker that there is some of these kinds of work."""

    def __call__(self, *works: JobQueue) -> None:
        """Return at once."""


@dataclass(frozen=True, slots=True)
class Services:
    """What everything about payments works with. ``wake`` tells a worker in this process what work there is."""

    database: Database
    installations: InstallationRepository
    accounts: AccountRepository
    inbox: Inbox
    card_keys: CardKeyRepository
    saved_cards: SavedCards
    emails: BlindIndex
    personal: PersonalData
    sealed: SealedValues
    gateways: Gateways
    addresses: Addresses
    now: Callable[[], datetime]
    schedule: Schedule = field(default_factory=Schedule)
    retention: Retention = field(default_factory=Retention)
    wake: Notifier = lambda *_works: None
    balances: BalanceCache = field(default_factory=LatestCache)

    @property
    def payments(self) -> PaymentRepository:
        """The payments of all stores."""
        return PaymentRepository(self.database)

    def posting(self, *, answering: int | None = None, alone: bool = False) -> Posting:
        """Return the circumstances under which something is posted now (see ``Posting``)."""
        return Posting(self.now(), self.schedule, answering, alone, self.saved_cards.of_payment)

    def wake_for(self, aggregates: Iterable[PaymentAggregate]) -> None:
        """Wake the worker for what is due of these payments now; mostly nothing is."""
        now, aggregates = self.now(), list(aggregates)
        polls = [each.next_poll_at for aggregate in aggregates for each in aggregate.operations]
        events = [each.next_attempt_at for aggregate in aggregates for each in aggregate.events]
        attempts = [each.payment.attempts_due_at for each in aggregates]
        for work, moments in ((POLLS, polls), (EVENTS, events), (ATTEMPTS, attempts)):
            if any(due is not None and due <= now for due in moments):
                self.wake(work)
