"""From outside: what a shopper and a storefront tell of the shopper stands in no row as it was told."""

import pytest
from sqlalchemy import text
from sqlmodel import SQLModel

from app.core.vocabulary import Kind
from app.store.vault import VaultError
from saleor_app_sdk.testing.views import NewCheckout
from tests.dashboard.order_page_stack import OrderPageStack
from tests.payments.fake_gateway import action_of

TOLD = {
    "email": "secret.shopper@example.com",
    "phone": "+380509876543",
    "firstName": "Мотронька",
    "lastName": "Кочубеївна",
    "patronymic": "Василівна-Іскра",
    "birthday": "1688-07-09",
    "taxId": "3141592653",
}
BACK = "https://shop.example.com/back?basket=5555555555554444"
PERSONAL = (
    "secret.shopper",
    "380509876543",
    "Мотронька",
    "Кочубеївна",
    "Іскра",
    "1688-07-09",
    "3141592653",
    "55555555",
)


async def rows(stack: OrderPageStack) -> str:
    """Return all that the app has written down, as anybody with a copy of the database sees it."""
    async with stack.services.database.transaction() as session:
        connection = await session.connection()
        tables = [table.name for table in SQLModel.metadata.sorted_tables]
        everything = [(await connection.execute(text(f"SELECT * FROM {name}"))).all() for name in tables]  # noqa: S608 - names of our own
    return str(everything) + str(everything).encode().decode("unicode_escape", errors="ignore")


@pytest.mark.threat("stolen-database", "stolen-backup")
async def test_rows_hold_nothing_of_the_shopper_and_everything_still_works(stack: OrderPageStack) -> None:
    [account] = await stack.services.accounts.all()
    await stack.services.accounts.change(account.id, storefront_origins=["https://shop.example.com"])
    stack.gateway.will_answer(stack.gateway.page())
    basket = await stack.saleor.create_checkout(NewCheckout(email="secret.shopper@example.com"))
    session = await stack.saleor.initialize(basket.id, data={"customer": TOLD, "returnUrl": BACK})
    assert session.event is not None
    assert session.event.type == "CHARGE_ACTION_REQUIRED", session.data
    [asked] = [request.json for request in stack.gateway.requests if action_of(request) == "payment"]
    assert asked["customer_email"] == TOLD["email"]
    assert asked["customer_fname"] == TOLD["firstName"]

    kept = await rows(stack)
    for personal in PERSONAL:
        assert personal not in kept, personal

    [aggregate] = await stack.aggregates_of(session.required_transaction.id)
    create = next(operation for operation in aggregate.operations if operation.kind is Kind.CREATE)
    # All that the call said is there for whoever has the key (laws of money, 1), and for this payment only.
    opened = stack.services.personal.open_request(aggregate.payment.transaction_id, create)
    assert {name: opened[name] for name in opened} == {name: opened[name] for name in create.request}
    assert (opened["customer_email"], opened["customer_lname"]) == (TOLD["email"], TOLD["lastName"])
    try:
        stack.services.personal.open_request("another", create)
    except VaultError:
        moved = False
    else:
        moved = True
    assert not moved
    page = await stack.http.get(f"/pay/return/{aggregate.payment.order_id}", headers={"Accept-Language": "en"})
    assert page.status_code == 200
    assert "shop.example.com/back?basket=5555555555554444&amp;transactionId=" in page.text
