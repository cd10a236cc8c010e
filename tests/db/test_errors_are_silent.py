"""What goes wrong in the database is told without what was to be written."""

from decimal import Decimal

import pytest
from sqlalchemy.exc import IntegrityError

from app.core.vocabulary import Flow
from app.store.database import Database
from app.store.tables import Payment
from tests.db.rows import NOON


async def written(database: Database, payment: Payment) -> None:
    async with database.transaction() as session:
        session.add(payment)


@pytest.mark.threat("secrets-in-logs")
async def test_an_error_of_the_database_does_not_quote_a_shopper(database: Database) -> None:
    payment = Payment(
        installation_id=404,
        account_id="nowhere",
        transaction_id="transaction",
        order_id="order",
        flow=Flow.CHARGE,
        amount=Decimal("1.00"),
        currency="UAH",
        channel="uah",
        source_id="checkout",
        return_url_sealed="https://shop.test/?email=taras@example.com",
        created_at=NOON,
        updated_at=NOON,
    )
    with pytest.raises(IntegrityError) as caught:
        await written(database, payment)
    assert "INSERT INTO payment" in str(caught.value)
    assert "taras@example.com" not in str(caught.value)
