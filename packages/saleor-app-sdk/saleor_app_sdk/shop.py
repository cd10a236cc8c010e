"""The name of a store, as its staff have set it in Saleor. Anybody may query it (Saleor's schema: ``Shop.name``)."""

from datetime import timedelta

from saleor_app_sdk.answers import read_optional_object
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installation import Installation

_OF_NOBODY = frozenset({"", "Saleor e-commerce"})  # of a Saleor that nobody has named yet


async def fetch_shop_name(client: SaleorClient, installation: Installation, *, timeout: timedelta) -> str | None:
    """Return the store's name; None if it has none of its own. Raises SaleorError."""
    shop = read_optional_object((await client.execute(installation, "shop_name", {}, timeout=timeout)).get("shop"))
    name = " ".join(str(shop.get("name") or "").split())
    return None if name in _OF_NOBODY else name
