"""The default store: Taras buys apple juice in Kyiv and pays 569.50 UAH."""

from decimal import Decimal
from typing import Any
from uuid import uuid4

from saleor_app_sdk.testing.ids import global_id
from saleor_app_sdk.testing.records import Basket, Line, Member

ADDRESS: dict[str, Any] = {
    "firstName": "Тарас",
    "lastName": "Шевченко",
    "companyName": "",
    "streetAddress1": "вул. Хрещатик 1",
    "streetAddress2": "кв. 2",
    "city": "КИЇВ",
    "cityArea": "",
    "postalCode": "01001",
    "country": {"code": "UA", "country": "Ukraine"},
    "countryArea": "",
    "phone": "+380501234567",
}


def line() -> Line:
    """Return a line with one bottle for 499.50."""
    return Line(
        key=str(uuid4()), product_name="Apple Juice", variant_name="1 l", sku="JUICE-1L", unit_price=Decimal("499.50")
    )


def basket() -> Basket:
    """Return a basket of 499.50 UAH and 70.00 UAH shipping, in the channel ``uah``."""
    return Basket(
        currency="UAH",
        channel_slug="uah",
        email="taras@example.com",
        language_code="EN",
        lines=[line()],
        shipping_price=Decimal("70.00"),
        address=dict(ADDRESS),
    )


def members() -> dict[str, Member]:
    """Return the staff by e-mail address; the first is signed in."""
    all_permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS", "MANAGE_CHANNELS", "MANAGE_CHECKOUTS", "MANAGE_ORDERS")
    staff = (
        ("Olena, the owner", "olena@example.com", all_permissions),
        ("Petro, for payments", "petro@example.com", ("HANDLE_PAYMENTS", "MANAGE_ORDERS")),
        ("Iryna, for orders", "iryna@example.com", ("MANAGE_ORDERS",)),
    )
    return {
        email: Member(global_id("User", number), name, email, permissions)
        for number, (name, email, permissions) in enumerate(staff, 1)
    }
