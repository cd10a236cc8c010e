"""Rows to begin with."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import text
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core import payment as core
from app.core.vocabulary import Flow, Kind, State
from app.store.accounts import AccountKeys, AccountRepository, NewAccount
from app.store.aggregates import ByOrder, ByTransaction, PaymentSelector, save_all
from app.store.database import Database
from app.store.installations import InstallationRepository, OpenInstallation
from app.store.payment_locks import is_selected, lock_payments
from app.store.payment_rows import PAYMENTS, StoredPayment
from app.store.tables import MerchantAccount, Operation, Payment, SaleorEvent

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
URL = "https://shop.example.com/graphql/"
KEYS = AccountKeys(api_key="the-api-key", api_secret="the-api-secret", endpoints_key="the-endpoints-key")


async def read_raw(database: Database, statement: str) -> list[tuple[Any, ...]]:
    """Return what is in the database itself, as anybody with a copy of it would see it."""
    async with database.engine.connect() as connection:
        return [tuple(row) for row in (await connection.execute(text(statement))).all()]


async def an_installation(book: InstallationRepository, url: str = URL, proven: str = "the-token") -> OpenInstallation:
    """Return a Saleor that has installed us."""
    await book.save(
        saleor_api_url=url,
        saleor_domain="shop.example.com",
        schema_version="3.23",
        app_id="QXBwOjE=",
        token=proven,
        jwks={"keys": ["one"]},
    )
    found = await book.find(url)
    assert found is not None
    return found


async def an_account(book: AccountRepository, installation: OpenInstallation, **changed: Any) -> MerchantAccount:
    """Return a point of sale of that Saleor."""
    members: dict[str, Any] = {
        "installation_id": installation.id,
        "name": "Main",
        "pos_id": "b28c8a4e-7c6f-4f6f-9c2c-1f6f0f1d3a11",
        "base_url": "https://gateway.example",
        "scheme_word": "CPAY",
        "keys": KEYS,
        "currencies": ["UAH"],
        "storefront_origins": ["https://shop.example.com"],
    }
    return await book.add(NewAccount(**(members | changed)))


def a_new_payment(account: MerchantAccount, number: int, source: str = "checkout") -> Payment:
    """Return a payment for that source that is not stored yet."""
    return Payment(
        installation_id=account.installation_id,
        account_id=account.id,
        transaction_id=f"transaction-{number}",
        order_id=f"order{number}",
        flow=Flow.CHARGE,
        amount=Decimal("569.50"),
        currency="UAH",
        channel="uah",
        source_id=source,
        created_at=NOON,
        updated_at=NOON,
    )


def plain(row: Payment) -> core.Payment:
    """Return a payment as decisions see it, with what its row says."""
    return PAYMENTS.read([getattr(row, name) for name in PAYMENTS.names])


async def store(
    database: Database,
    payment: core.Payment,
    operations: Sequence[core.Operation] = (),
    events: Sequence[core.SaleorEvent] = (),
) -> None:
    """Store a payment with its operations and events; they receive their row ids."""
    async with database.transaction() as session:
        await save_all(session, [StoredPayment(payment, list(operations), list(events))])


async def load_by_transaction(session: AsyncSession, installation_id: int, transaction_id: str) -> StoredPayment | None:
    """Return the payment of a Saleor transaction, locked; or None."""
    return await _lock(session, ByTransaction(installation_id, transaction_id))


async def load_by_order(session: AsyncSession, order_id: str, *, account_id: str | None = None) -> StoredPayment | None:
    """Return the payment of a gateway order (of that account only, if one is named), locked; or None."""
    return await _lock(session, ByOrder(order_id, account_id=account_id))


async def _lock(session: AsyncSession, which: PaymentSelector) -> StoredPayment | None:
    locked = await lock_payments(session, [which])
    return next((payment for payment in locked if is_selected(payment, which)), None)


async def a_payment(database: Database, account: MerchantAccount, number: int = 1) -> tuple[Payment, Operation]:
    """Return a payment that waits for its shopper, with the operation that made it."""
    payment = a_new_payment(account, number)
    async with database.transaction() as session:
        session.add(payment)
        await session.flush()
        assert payment.id is not None
        create = an_operation(payment.id, Kind.CREATE, "create")
        session.add(create)
    return payment, create


def an_operation(payment_id: int, kind: Kind, key: str, **more: Any) -> Operation:
    """Return an operation of that payment, due now."""
    members: dict[str, Any] = {
        "state": State.INIT,
        "amount": Decimal("569.50"),
        "currency": "UAH",
        "next_poll_at": NOON,
        "created_at": NOON,
        "updated_at": NOON,
    }
    return Operation(payment_id=payment_id, kind=kind, idempotency_key=key, **(members | more))


def an_event(
    payment_id: int, reference: str, kind: str = "INFO", due: datetime = NOON, installation_id: int = 1
) -> SaleorEvent:
    """Return an event of that payment of the first store, due now, if nothing else is said."""
    return SaleorEvent(
        payment_id=payment_id,
        installation_id=installation_id,
        type=kind,
        psp_reference=reference,
        amount=Decimal("1.00"),
        next_attempt_at=due,
        created_at=NOON,
    )
