"""A second merchant account of a store: a point of sale of its own, with keys and limits of its own."""

from app.store.accounts import AccountKeys, NewAccount
from app.store.tables import MerchantAccount
from tests.payments.shop import Shop

SECOND_POS = "5a9db0c5-7d1f-4c2b-9b60-3b1f2a4c5d6e"


async def add_second_account(shop: Shop) -> MerchantAccount:
    """Add another account of the same store, at the same gateway."""
    return await shop.services.accounts.add(
        NewAccount(
            installation_id=shop.installation.id,
            name="Second",
            pos_id=SECOND_POS,
            base_url=shop.gateway.url,
            scheme_word="CPAY",
            keys=AccountKeys(api_key="second-key", api_secret="second-secret", endpoints_key="second-endpoints"),
            currencies=["UAH"],
            storefront_origins=[],
        )
    )
