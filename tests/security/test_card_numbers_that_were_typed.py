"""From outside: a card number that a shopper types into the wrong field is refused, and stands nowhere."""

import re
import unicodedata
from typing import Any

import pytest
from sqlalchemy import text
from sqlmodel import SQLModel

from saleor_app_sdk.testing.views import NewCheckout
from tests.dashboard.order_page_stack import OrderPageStack

NUMBER = "4242424242424242"
AMEX = "378282246310005"
NAMES = {"firstName": "Тарас", "lastName": "Шевченко"}


async def rows(stack: OrderPageStack) -> str:
    """Return all that the app has written down."""
    async with stack.services.database.transaction() as session:
        connection = await session.connection()
        tables = [table.name for table in SQLModel.metadata.sorted_tables]
        return str([(await connection.execute(text(f"SELECT * FROM {table}"))).all() for table in tables])  # noqa: S608


def has_number(written: str) -> bool:
    """Whether half of a card's number is there, however it is written. Fewer digits stand in ciphertexts by chance."""
    digits = re.sub(r"[\s.-]", "", unicodedata.normalize("NFKC", written))
    return NUMBER[:8] in digits or AMEX[:8] in digits


async def refused(stack: OrderPageStack, field: str, checkout: NewCheckout | None = None, data: Any = None) -> None:
    basket = await stack.saleor.create_checkout(checkout)
    session = await stack.saleor.initialize(basket.id, data=data)
    assert session.data is not None
    [error] = session.data["errors"]
    assert (error["code"], error["field"]) == ("CARD_DATA_REFUSED", field)
    assert not has_number(str(session.data))
    assert "contact details" in error["message"]
    assert stack.gateway.requests == []
    assert not has_number(await rows(stack))


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize(
    ("customer", "field"),
    [
        ({"firstName": NUMBER}, "firstName"),
        ({"firstName": "Taras 4242-4242 4242.4242"}, "firstName"),
        ({"firstName": "4242 4242", "lastName": "4242 4242"}, "firstName"),
        ({"lastName": AMEX}, "lastName"),
        ({"patronymic": "４２４２４２４２４２４２４２４２"}, "patronymic"),
        ({"email": f"{NUMBER}@example.com"}, "email"),
        ({"phone": NUMBER}, "phone"),
        ({"taxId": NUMBER}, "taxId"),
    ],
)
async def test_in_what_the_storefront_passes(stack: OrderPageStack, customer: dict[str, str], field: str) -> None:
    await refused(stack, f"data.customer.{field}", data={"customer": NAMES | customer})


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize(
    ("address", "field"), [({"firstName": f"Taras {NUMBER}"}, "firstName"), ({"lastName": NUMBER}, "lastName")]
)
async def test_in_the_billing_address_of_the_checkout(
    stack: OrderPageStack, address: dict[str, str], field: str
) -> None:
    billing = NAMES | {"phone": "+380501234567", "country": {"code": "UA"}} | address
    await refused(stack, f"data.customer.{field}", NewCheckout(address=billing))


async def test_a_number_that_happens_to_look_like_one_keeps_nobody_from_paying(stack: OrderPageStack) -> None:
    """A tenth of all numbers pass the check: phones and tax ids, and the orders in a storefront's addresses."""
    account = (await stack.services.accounts.all())[0]
    await stack.services.accounts.change(account.id, storefront_origins=["https://shop.example.com"])
    stack.gateway.will_answer(stack.gateway.page())
    basket = await stack.saleor.create_checkout(None)
    data = {
        "returnUrl": f"https://shop.example.com/orders/{NUMBER}?back=1",
        "customer": {"phone": "+4915112345678", "taxId": "30569309025904"},
    }
    session = await stack.saleor.initialize(basket.id, data=data)
    assert session.event is not None
    assert session.event.type == "CHARGE_ACTION_REQUIRED", session.data
