"""What everything in this room works with: the books, the gateway's clients, the addresses, the clock."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import quote

import httpx2

from app.gateway.client import GatewayClient
from app.gateway.credentials import Credentials
from app.gateway.models import Sector
from app.ledger.accounts import AccountBook
from app.ledger.card_keys import CardKeyBook
from app.ledger.claims import Work
from app.ledger.database import Database
from app.ledger.emails import EmailDigests
from app.ledger.inbox import Inbox
from app.ledger.installations import InstallationBook
from app.ledger.outbox import EVENTS
from app.ledger.personal import PersonalData
from app.ledger.repository import PaymentRepository
from app.ledger.sheets import ATTEMPTS, LOOKS, Sheet
from app.ledger.tables import MerchantAccount
from app.payments.schedule import Schedule
from app.saleor.limits import usable_link

_BETWEEN_COMPARISONS = timedelta(minutes=1)


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

    def __init__(self, http: httpx2.AsyncClient, accounts: AccountBook) -> None:
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

    def time_to_compare(self, account_id: str, now: datetime) -> bool:
        """Return True once a minute: then what the gateway accepts is compared with what is recorded of an account."""
        last = self._compared.get(account_id)
        if last is not None and now < last + _BETWEEN_COMPARISONS:
            return False
        self._compared[account_id] = now
        return True


class Wake(Protocol):
    """Tells a worker that there is some of these kinds of work."""

    def __call__(self, *works: Work) -> None:
        """Return at once."""


@dataclass(frozen=True, slots=True)
class Desk:
    """The desk at which payments are worked on. ``wake`` tells a worker in this process what work there is."""

    database: Database
    installations: InstallationBook
    accounts: AccountBook
    inbox: Inbox
    card_keys: CardKeyBook
    emails: EmailDigests
    personal: PersonalData
    gateways: Gateways
    addresses: Addresses
    now: Callable[[], datetime]
    schedule: Schedule = field(default_factory=Schedule)
    wake: Wake = lambda *_works: None

    @property
    def payments(self) -> PaymentRepository:
        """The payments of all stores."""
        return PaymentRepository(self.database)

    def wake_for(self, sheets: Iterable[Sheet]) -> None:
        """Wake the worker for what is due of these payments now; mostly nothing is."""
        now, sheets = self.now(), list(sheets)
        looks = [each.next_look_at for sheet in sheets for each in sheet.operations]
        events = [each.next_attempt_at for sheet in sheets for each in sheet.events]
        attempts = [each.payment.attempts_due_at for each in sheets]
        for work, moments in ((LOOKS, looks), (EVENTS, events), (ATTEMPTS, attempts)):
            if any(due is not None and due <= now for due in moments):
                self.wake(work)
