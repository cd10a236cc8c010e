"""Two months of a store's payments, made up: for whoever looks at what they have brought."""

import random
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from app.core.ids import OrderId
from app.core.payment import Operation, Payment
from app.core.vocabulary import Flow, Kind, State
from app.rules.balance import status_of, update_booking
from app.services import Services
from app.store.aggregates import save_all
from app.store.day_sums import Days
from app.store.payment_rows import StoredPayment
from app.store.summed_days import store_sums
from app.store.tables import MerchantAccount

_CODES = ("4009", "4009", "4009", "4009", "4012", "4012", "4144", "4147", "4147", "4001", "6007", "4149", "9999")
_PAID_WITH = (*["424242******4242"] * 5, *["555555******4444"] * 3, "353011******0000")
_A_DAY = 9


async def add_two_months_of_payments(
    services: Services, account: MerchantAccount, until: datetime, *, currencies: tuple[str, ...] = ("UAH",)
) -> None:
    """Keep payments of 61 days up to ``until``, the same ones each time, and sum the days that are over."""
    chance = random.Random(7)  # noqa: S311 - made up, no secret
    number, payments = 0, list[StoredPayment]()
    for back in range(61, -1, -1):
        day = (until - timedelta(days=back)).date()
        for _ in range(chance.randint(3, _A_DAY + (61 - back) // 8)):
            number += 1
            at = datetime.combine(day, time(chance.randint(5, 22), chance.randint(0, 59)), UTC)
            if at >= until:
                continue
            payment = _payment(account, number, at, chance, chance.choice(currencies))
            operations = _operations(payment, at, chance)
            for operation in operations:
                update_booking(payment, operation)
            payment.status = status_of(payment.flow, operations)
            payments.append(StoredPayment(payment, operations, []))
    async with services.database.transaction() as session:
        await save_all(session, payments)
    over = Days(until.date() - timedelta(days=62), until.date() - timedelta(days=1))
    async with services.database.transaction() as session:
        await store_sums(session, [account.id], over, until)


def _payment(account: MerchantAccount, number: int, at: datetime, chance: random.Random, currency: str) -> Payment:
    how = chance.random()
    return Payment(
        installation_id=account.installation_id,
        account_id=account.id,
        transaction_id=f"two-months-{number}",
        order_id=OrderId(f"{number:032x}"),
        order_number=str(5000 + number),
        flow=Flow.CHARGE,
        amount=Decimal(chance.randint(15_000, 380_000)) / 100,
        currency=currency,
        channel="default-channel",
        source_id=f"two-months-{number}",
        saved_card_id="kept" if how < 0.2 else None,
        wallet="applepay" if 0.2 <= how < 0.38 else "gpay" if 0.38 <= how < 0.5 else None,
        created_at=at,
        updated_at=at,
    )


def _operations(payment: Payment, at: datetime, chance: random.Random) -> list[Operation]:
    paid = chance.random() < 0.87
    details: dict[str, Any] = {}
    if paid:
        fee = (payment.amount * Decimal("0.015")).quantize(Decimal("0.01"))
        details = {"card_mask": chance.choice(_PAID_WITH), "fee": {"amount": str(fee), "currency": payment.currency}}
        if chance.random() < 0.08:
            details |= {"card_mask": None, "payway": "bank_pay"}
    rows = [_operation(payment, Kind.CREATE, payment.amount, at, details, paid=paid)]
    rows[0].status_code = "1000" if paid else chance.choice(_CODES)
    if paid and chance.random() < 0.06:
        rows.append(_operation(payment, Kind.REFUND, payment.amount / 2, at, {}, paid=True))
    return rows


def _operation(
    payment: Payment, kind: Kind, amount: Decimal, at: datetime, details: dict[str, Any], *, paid: bool
) -> Operation:
    return Operation(
        kind=kind,
        idempotency_key=kind.value,
        state=State.SUCCESS if paid else State.FAILURE,
        amount=amount.quantize(Decimal("0.01")),
        currency=payment.currency,
        details={name: value for name, value in details.items() if value is not None},
        created_at=at,
        updated_at=at,
    )
