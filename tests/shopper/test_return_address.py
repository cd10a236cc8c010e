"""Shoppers are led back to the address that the storefront named, which says whose payment it is about."""

import pytest

from app.web.shopper.view_builder import find_view
from tests.payments.shop import Shop
from tests.payments.shop_fixtures import gateway, shop

__all__ = ["gateway", "shop"]

BACK = "https://shop.example.com/back"


@pytest.mark.parametrize(
    ("named", "led_to"),
    [
        (BACK, f"{BACK}?transactionId=THIS"),
        (f"{BACK}?", f"{BACK}?transactionId=THIS"),
        (f"{BACK}?q=%D0%BA+x&a#/step", f"{BACK}?q=%D0%BA+x&a&transactionId=THIS#/step"),
        (f"{BACK}?transactionId=VHg%3D&transactionId=VHk%3D", f"{BACK}?transactionId=THIS"),
        (f"{BACK}?step=pay&transaction%49d=VHg%3D#done", f"{BACK}?step=pay&transactionId=THIS#done"),
        (f"{BACK}?mytransactionId=7&transactionIds=8", f"{BACK}?mytransactionId=7&transactionIds=8&transactionId=THIS"),
    ],
)
async def test_the_way_back_names_this_transaction_and_no_earlier_one(shop: Shop, named: str, led_to: str) -> None:
    """A storefront that tries again from its return page passes that page's address, with the earlier attempt's id."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(data={"returnUrl": named})

    view = await find_view(shop.services, shop.order_id)

    assert view is not None
    assert view.return_url is not None
    assert view.return_url.replace(shop.transaction.id.replace("=", "%3D"), "THIS") == led_to
