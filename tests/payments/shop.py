"""A shop for tests of payments: one Saleor, one gateway over loopback, and the app's services between them."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import urlencode

import httpx2
import sqlalchemy as sa
from sqlalchemy import bindparam, delete, func, update
from sqlmodel import col, select

from app.core import payment as core
from app.core.payment import PaymentAggregate
from app.core.vocabulary import Kind
from app.flows.actions import answer_action_request
from app.flows.initialize import initialize
from app.flows.notifications import Receipt, receive
from app.flows.process_session import process
from app.rules.addresses import Addresses
from app.rules.references import order_id_of
from app.rules.schedule import Schedule
from app.services import Gateways, Services
from app.store.accounts import AccountKeys, AccountRepository, NewAccount
from app.store.card_keys import CardKeyRepository
from app.store.columns import Moment, table_of
from app.store.database import Database
from app.store.inbox import Inbox
from app.store.installations import InstallationRepository, OpenInstallation
from app.store.personal import BlindIndex, PersonalData
from app.store.problems import schedule_problem_comparison
from app.store.saved_cards import SavedCards
from app.store.sealed_values import SealedValues
from app.store.summed_days import next_summing_time, schedule_summing, store_empty_days
from app.store.tables import (
    ChannelRoute,
    Installation,
    MerchantAccount,
    Notification,
    Operation,
    Payment,
    ReconciliationRun,
    SaleorEvent,
    SummedDay,
)
from app.store.vault import Vault
from app.worker.loop import Worker
from gateway_client import notification
from gateway_client.signature import sign
from integration_base_tests.clock import Clock
from saleor_app_sdk.events import (
    RequestedAction,
    TransactionCancelationRequested,
    TransactionChargeRequested,
    TransactionInitializeSession,
    TransactionProcessSession,
    TransactionRefundRequested,
)
from saleor_app_sdk.responses import ActionResponse, SessionResponse
from saleor_app_sdk.testing.records import Amounts, Transaction
from tests.db.rows import load_by_transaction
from tests.payments.fake_gateway import POS_ID, FakeGateway, operation, payment
from tests.payments.fake_saleor import FakeSaleor

SALEOR = "https://shop.example.com/graphql/"
SECRET = "the-api-secret"
TOTAL = "569.50"
CUSTOMER = {"email": "taras@example.com", "phone": "+380501234567", "firstName": "Тарас", "lastName": "Шевченко"}
_EVENTS: dict[str, type[RequestedAction]] = {
    "CHARGE": TransactionChargeRequested,
    "REFUND": TransactionRefundRequested,
    "CANCEL": TransactionCancelationRequested,
}


def source_object(**changed: Any) -> dict[str, Any]:
    """Return the checkout to be paid, as in Saleor's events."""
    return {
        "__typename": "Checkout",
        "id": "Q2hlY2tvdXQ6MQ==",
        "channel": {"slug": "uah", "currencyCode": "UAH"},
        "email": "taras@example.com",
        "languageCode": "UK_UA",
        "billingAddress": {
            "firstName": "Тарас",
            "lastName": "Шевченко",
            "phone": "+380501234567",
            "country": {"code": "UA"},
        },
    } | changed


def session_event(
    transaction_id: str,
    *,
    flow: str = "CHARGE",
    amount: object = TOTAL,
    currency: str = "UAH",
    data: Any = None,
    **changed: Any,
) -> dict[str, Any]:
    """Return the members of an initialize or process event; issued by the source object's customer, if it has one."""
    user = (changed.get("sourceObject") or {}).get("user")
    return {
        "issuingPrincipal": None if user is None else {"__typename": "User", "id": user["id"]},
        "issuedAt": "2026-11-21T12:00:00+00:00",
        "version": "3.23.28",
        "recipient": {"id": "QXBwOjE=", "identifier": "gateway.payments.app"},
        "transaction": {"id": transaction_id},
        "sourceObject": source_object(),
        "action": {"actionType": flow, "amount": Decimal(str(amount)), "currency": currency},
        "data": data,
        "idempotencyKey": "key-of-the-session",
    } | changed


def action_event(
    transaction_id: str,
    action: str,
    amount: object,
    key: str | None,
    *,
    currency: str = "UAH",
    reason: str = "",
    **changed: Any,
) -> RequestedAction:
    """Return the event of an action that staff request; ``key`` None: Saleor names no request event."""
    request = {
        "id": "RXZlbnQ6MQ==",
        "type": f"{action}_REQUEST",
        "pspReference": "",
        "idempotencyKey": key,
        "createdAt": "2026-11-21T12:00:00+00:00",
        "message": reason,
    }
    return _EVENTS[action].model_validate(
        {
            "issuedAt": "2026-11-21T12:00:00+00:00",
            "version": "3.23.28",
            "recipient": {"id": "QXBwOjE=", "identifier": "gateway.payments.app"},
            "transaction": {"id": transaction_id, "events": [request] if key else []},
            "action": {"actionType": action, "amount": Decimal(str(amount)), "currency": currency},
        }
        | changed
    )


def signed_notification(record: dict[str, Any], secret: str = SECRET) -> bytes:
    """Return the form body of a signed notification of the gateway."""
    data = notification.encode(record)
    return urlencode({"data": data, "signature": sign(data, secret)}).encode()


@cache
def _next_due_query() -> Any:
    """Return the query for the next due time of each kind of work."""
    columns = (
        Operation.next_poll_at,
        SaleorEvent.next_attempt_at,
        Notification.next_attempt_at,
        Installation.problems_due_at,
        Installation.next_check_at,
        Payment.next_order_poll_at,
        Payment.attempts_due_at,
    )
    now: Any = bindparam("now", type_=Moment)
    return select(*[select(func.min(column)).where(col(column) > now).scalar_subquery() for column in columns])


@dataclass
class Shop:
    """A shop with one transaction. Its Saleor books answers as the real one would."""

    services: Services
    clock: Clock
    gateway: FakeGateway
    saleor: FakeSaleor
    installation: OpenInstallation
    account: MerchantAccount
    transaction: Transaction

    @property
    def order_id(self) -> str:
        """The gateway's order id of the transaction's first attempt."""
        return order_id_of(self.transaction.id, SALEOR)

    @property
    def amounts(self) -> Amounts:
        """The transaction's amounts in Saleor."""
        return self.transaction.amounts

    @asynccontextmanager
    async def webhook_budget(self, budget: float = 1.5) -> AsyncIterator[None]:
        """Limit the time that webhooks have for calls of the gateway to so many seconds.

        Connects first, so that the time is spent on waiting for the gateway and on nothing else.
        """
        await self.services.gateways.client(self.account).get_order("0", timeout=10)
        usual = self.services
        self.services = replace(usual, schedule=replace(usual.schedule, budget=timedelta(seconds=budget)))
        try:
            yield
        finally:
            self.services = usual

    async def begin(self, **members: Any) -> SessionResponse:
        """Begin to pay, as a shopper (``transactionInitialize``)."""
        event = TransactionInitializeSession.model_validate(session_event(self.transaction.id, **members))
        flow = event.action.action_type.value
        request = self.saleor.open_request(self.transaction, flow, event.action.amount, "key-of-the-session")
        answer = await initialize(self.services, event, self.installation)
        self.saleor.book_session(self.transaction, request, answer)
        return answer

    async def process_session(self, **members: Any) -> SessionResponse:
        """Return to the shop, as the shopper: the storefront queries the state (``transactionProcess``)."""
        event = TransactionProcessSession.model_validate(session_event(self.transaction.id, **members))
        flow = event.action.action_type.value
        request = self.saleor.open_request(self.transaction, flow, event.action.amount, "")
        answer = await process(self.services, event, self.installation)
        self.saleor.book_session(self.transaction, request, answer)
        return answer

    async def request_action(
        self, action: str, amount: object = 0, key: str = "key-1", *, booked: bool = True, **members: Any
    ) -> ActionResponse:
        """Request to charge, refund or cancel, as staff. ``booked`` False: the answer does not reach Saleor."""
        request = self.saleor.open_request(self.transaction, action, Decimal(str(amount)), key)
        event = action_event(self.transaction.id, action, amount, key, **members)
        answer = await answer_action_request(self.services, event, self.installation)
        if booked:
            self.saleor.book_action(self.transaction, request, action, answer)
        return answer

    async def notify(self, record: dict[str, Any]) -> Receipt:
        """Notify the app as the gateway, whose own book holds the record from now on."""
        records = self.gateway.book.setdefault(record["order_id"], [])
        name = "operation_id" if "operation_id" in record else "payment_id"
        records[:] = [
            known for known in records if known.get(name) != record[name] or known["method"] != record["method"]
        ]
        records.append(record)
        return await receive(self.services, self.account.id, signed_notification(record))

    async def work(self) -> int:
        """Let a worker do everything that is due; return the number of jobs done."""
        worker, done = Worker(self.saleor), 0
        while jobs := await worker.work_once(self.services):
            done += jobs
            assert done < 1000, "the worker finds no end"
        return done

    async def pass_time(self, **span: float) -> int:
        """Let time pass while a worker does everything at the moment when it is due; return the number of jobs done."""
        until = self.clock.now + timedelta(**span)
        done = await self.work()
        while (due := await self._next_due()) is not None and due <= until:
            self.clock.now = due
            done += await self.work()
        self.clock.now = until
        return done

    async def _next_due(self) -> datetime | None:
        """Return when the next job in the database becomes due."""
        async with self.services.database.transaction() as session:
            later = (await session.exec(_next_due_query(), params={"now": self.clock.now})).one()
        return min((moment for moment in later if moment is not None), default=None)

    async def enable_problem_comparison(self) -> None:
        """Report problems that need a person to Saleor from now on."""
        async with self.services.database.transaction() as session:
            await schedule_problem_comparison(session, self.installation.id, self.clock.now)

    async def enable_presence_check(self) -> None:
        """Check from now on whether Saleor accepts the app's token."""
        async with self.services.database.transaction() as session:
            (await session.get_one(Installation, self.installation.id)).next_check_at = self.clock.now

    async def enable_day_sums(self) -> None:
        """Sum each day once it is over from now on, as in a new store: of the days before there is nothing."""
        now = self.clock.now
        async with self.services.database.transaction() as session:
            await store_empty_days(session, self.account.id, now)
            await schedule_summing(session, self.installation.id, next_summing_time(now))

    async def complete_payment(self, flow: str = "CHARGE", amount: object = TOTAL, **members: Any) -> None:
        """Bring the transaction to the point where the shopper has paid and Saleor was told."""
        self.gateway.will_answer(self.gateway.page())
        await self.begin(flow=flow, amount=amount, **members)
        method = "purchase" if flow == "CHARGE" else "auth"
        await self.notify(payment(self.order_id, amount=amount, method=method))
        await self.work()
        self.saleor.reports.clear()
        self.gateway.requests.clear()

    async def aggregate(self) -> PaymentAggregate:
        """Return the recorded payment of the transaction."""
        aggregate = await self.find_aggregate()
        assert aggregate is not None
        return aggregate

    async def find_aggregate(self) -> PaymentAggregate | None:
        """Return the recorded payment of the transaction, if there is one."""
        async with self.services.database.transaction() as session:
            return await load_by_transaction(session, self.installation.id, self.transaction.id)

    async def operation(self, kind: Kind, number: int = 0) -> core.Operation:
        """Return the operation of that kind; ``number`` 0 is the oldest."""
        return [operation for operation in (await self.aggregate()).operations if operation.kind is kind][number]

    def record_refund(self, amount: object, operation_id: str, status: str = "success") -> dict[str, Any]:
        """Add a refund to the gateway's book and return its record."""
        record = operation("refund", self.order_id, amount, status, operation_id=operation_id)
        self.gateway.book.setdefault(self.order_id, []).append(record)
        return record


_stores: dict[tuple[datetime, tuple[str, ...]], tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {}


async def _open_store(database: Database, vault: Vault, clock: Clock, gateway_url: str) -> MerchantAccount:
    """Set up a store in an empty database, and return its account.

    The repositories write the first one of a process. The others get the same rows: there are 2,000 of them, and with
    the repositories each would take a tenth of the processor time of its test.
    """
    rows = _stores.get((clock.now, vault.key_ids))
    if rows is None:
        account = await set_up_store(database, vault, clock, gateway_url)
        async with database.transaction() as session:
            connection = await session.connection()
            installation, merchant_account, route = [
                dict((await connection.execute(sa.select(table_of(model)))).mappings().one())
                for model in (Installation, MerchantAccount, ChannelRoute)
            ]
        del installation["id"], route["id"]
        _stores[clock.now, vault.key_ids] = installation, merchant_account, route
        return account
    installation, merchant_account, route = rows
    async with database.transaction() as session:
        written = await session.exec(
            sa.insert(table_of(Installation)).returning(col(Installation.id)), params=installation
        )
        belongs = {"installation_id": written.scalar_one()}
        here = {"base_url": gateway_url}
        await session.exec(sa.insert(table_of(MerchantAccount)), params=merchant_account | belongs | here)
        await session.exec(sa.insert(table_of(ChannelRoute)), params=route | belongs)
        return await session.get_one(MerchantAccount, merchant_account["id"])


async def set_up_store(database: Database, vault: Vault, clock: Clock, gateway_url: str) -> MerchantAccount:
    """Set up a store as operators do, and return its account. Nothing is planned in it.

    What is planned is only done where a test wants it: see `Shop.enable_problem_comparison`,
    `Shop.enable_presence_check` and `Shop.enable_day_sums`; the fake gateway has no register.
    """
    installations = InstallationRepository(database, vault, clock)
    await installations.save(
        saleor_api_url=SALEOR,
        saleor_domain="shop.example.com",
        schema_version="3.23",
        app_id="QXBwOjE=",
        token="the-app-token",
        jwks=None,
    )
    installation = await installations.find(SALEOR)
    assert installation is not None
    accounts = AccountRepository(database, vault, clock)
    account = await accounts.add(
        NewAccount(
            installation_id=installation.id,
            name="Main",
            pos_id=POS_ID,
            base_url=gateway_url,
            scheme_word="CPAY",
            keys=AccountKeys(api_key="the-api-key", api_secret=SECRET, endpoints_key="the-endpoints-key"),
            currencies=["UAH"],
            storefront_origins=["https://shop.example.com"],
        )
    )
    await accounts.map_channel("uah", account.id)
    store = col(Installation.id) == installation.id
    async with database.transaction() as session:
        nothing: dict[str, None] = dict.fromkeys(("problems_due_at", "next_check_at", "days_due_at"))
        await session.exec(update(Installation).where(store).values(nothing))
        for planned in (ReconciliationRun, SummedDay):
            await session.exec(delete(planned).where(col(planned.account_id) == account.id))
    return account


@asynccontextmanager
async def open_shop(database: Database, vault: Vault, clock: Clock, gateway: FakeGateway) -> AsyncIterator[Shop]:
    """Open a shop whose Saleor has installed us and whose channel leads to one merchant account."""
    installations = InstallationRepository(database, vault, clock)
    accounts = AccountRepository(database, vault, clock)
    account = await _open_store(database, vault, clock, gateway.url)
    installation = await installations.find(SALEOR)
    assert installation is not None
    saleor = FakeSaleor(clock)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used on loopback, and quicker to create than the default
    async with httpx2.AsyncClient(verify=tls, trust_env=False) as http:
        services = Services(
            database=database,
            installations=installations,
            accounts=accounts,
            inbox=Inbox(database, vault),
            card_keys=CardKeyRepository(database, vault),
            saved_cards=SavedCards(database, vault),
            emails=BlindIndex(vault),
            personal=PersonalData(vault),
            sealed=SealedValues(database, vault),
            gateways=Gateways(http, accounts),
            addresses=Addresses("https://pay.example.com"),
            now=clock,
            schedule=Schedule(between_shopper_look_ups=timedelta()),  # the clock of stories stands still
        )
        yield Shop(services, clock, gateway, saleor, installation, account, saleor.new_transaction())


async def run_concurrently(*jobs: Any) -> list[Any]:
    """Run jobs concurrently and return their results."""
    return list(await asyncio.gather(*jobs))


async def work_at_once(*processes: Shop) -> None:
    """Let a worker in every process do what is due, all at the same moment, until nothing is due any more.

    Each has a database of its own: what one process writes is claimed for its own worker, and for no other.
    """
    workers = [(Worker(process.saleor), process.services) for process in processes]
    while any(await run_concurrently(*(worker.work_once(services) for worker, services in workers))):
        pass
