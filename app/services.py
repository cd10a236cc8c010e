"""What flows and reports work with: repositories, gateway clients, addresses, the clock."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

import httpx2

from app.core.ids import OperationRowId
from app.rules.addresses import Addresses
from app.rules.decision_context import DecisionContext
from app.rules.dialects import dialect_of
from app.rules.schedule import Schedule
from app.store.accounts import AccountRepository
from app.store.card_keys import CardKeyRepository
from app.store.database import Database
from app.store.inbox import Inbox
from app.store.installations import InstallationRepository
from app.store.latest_cache import LatestCache
from app.store.personal import BlindIndex, PersonalData
from app.store.repository import PaymentRepository
from app.store.retention import Retention
from app.store.saved_cards import SavedCards
from app.store.sealed_values import SealedValues
from app.store.tables import MerchantAccount
from app.store.throttle import Throttle
from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import GatewayError, RateLimitedError
from gateway_client.models import Sector
from gateway_client.models.accounts import BalanceAccount
from integration_base.server_clock import ClockDifference, compare_clock

_COMPARISON_INTERVAL = timedelta(minutes=1)

BalanceCache: TypeAlias = LatestCache[tuple[str, str | None, datetime], tuple[BalanceAccount, ...], GatewayError]
"""The latest balances that the gateway reported, by the account's id and when the account was last changed."""


class Gateways:
    """One client for each merchant account; all share the process's connection pool."""

    def __init__(self, http: httpx2.AsyncClient, accounts: AccountRepository) -> None:
        self._http = http
        self._accounts = accounts
        self._clients: dict[str, tuple[datetime, GatewayClient]] = {}
        self._compared: dict[str, datetime] = {}
        self._pauses: dict[str, tuple[datetime, datetime, RateLimitedError]] = {}

    def credentials(self, account: MerchantAccount) -> Credentials:
        """Return the account's opened credentials. Raises VaultError."""
        keys = self._accounts.keys(account)
        replaced = (keys.previous_api_secret, *self._accounts.older_api_secrets(account))
        return Credentials(
            pos_id=account.pos_id,
            api_key=keys.api_key,
            api_secret=keys.api_secret,
            endpoints_key=keys.endpoints_key,
            base_url=account.base_url,
            scheme_word=account.scheme_word,
            previous_api_secrets=tuple(filter(None, replaced)),
            balances_url=account.balances_url,
            register_url=account.register_url,
        )

    def client_for_credentials(self, credentials: Credentials) -> GatewayClient:
        """Return a client for credentials that are not stored yet."""
        return GatewayClient(self._http, credentials)

    def client(self, account: MerchantAccount) -> GatewayClient:
        """Return the account's client; a changed account gets a new one. Raises VaultError."""
        known = self._clients.get(account.id)
        if known is None or known[0] != account.updated_at:
            client = GatewayClient(
                self._http, self.credentials(account), sector=Sector(account.sector), dialect=dialect_of(account)
            )
            known = (account.updated_at, client)
            self._clients[account.id] = known
        return known[1]

    async def compare_clock(
        self, account: MerchantAccount, now: Callable[[], datetime], *, within: float
    ) -> ClockDifference | None:
        """Compare the clock of an account's gateway with ours, without showing it a key; see ``compare_clock``."""
        return await compare_clock(self._http, account.base_url, now, within=within)

    def remember_pause(self, account_id: str, error: GatewayError, now: datetime) -> None:
        """Remember how long the gateway wants no requests for an account, if the error says so."""
        if isinstance(error, RateLimitedError) and error.pause is not None:
            # Without its traceback, which would keep alive everything that the call referred to.
            until = now + timedelta(seconds=error.pause)
            self._pauses[account_id] = now, until, error.with_traceback(None)

    def current_pause(self, account_id: str, now: datetime) -> RateLimitedError | None:
        """Return why nobody who can do with what is known asks the gateway now; None when it may be asked."""
        since, until, error = self._pauses.get(account_id, (now, now, None))
        # A pause that begins in the future is from before the clock was set back.
        return error if since <= now < until else None

    def is_comparison_due(self, account_id: str, now: datetime) -> bool:
        """Return True once a minute: then the records of an account are compared with what the gateway accepts."""
        last = self._compared.get(account_id)
        # A time in the future is from before the clock was set back.
        if last is not None and timedelta() <= now - last < _COMPARISON_INTERVAL:
            return False
        self._compared[account_id] = now
        return True


@dataclass(frozen=True, slots=True)
class Services:
    """The dependencies of all payment code."""

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
    balances: BalanceCache = field(default_factory=LatestCache)
    shopper_look_ups: Throttle[int] = field(default_factory=Throttle)

    @property
    def payments(self) -> PaymentRepository:
        """The payments of all stores."""
        return PaymentRepository(self.database)

    def decision_context(
        self, *, answered_operation_id: OperationRowId | None = None, is_single_record: bool = False
    ) -> DecisionContext:
        """Return the context of a decision made now."""
        return DecisionContext(
            self.now(), self.schedule, answered_operation_id, is_single_record, self.saved_cards.seal_token
        )
