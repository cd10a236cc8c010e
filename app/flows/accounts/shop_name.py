"""Gives accounts the name of their store in Saleor, so that shoppers see whom they pay."""

from collections.abc import Sequence
from datetime import timedelta

import structlog

from app.rules.accounts.readers import LONGEST_SHOP_NAME, shop_name
from app.services import Services
from app.store.installations import OpenInstallation
from app.store.tables import MerchantAccount
from saleor_app_sdk.errors import SaleorError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.shop import fetch_shop_name

_log = structlog.stdlib.get_logger(__name__)
_TIMEOUT = timedelta(seconds=5)  # a page waits for it


async def name_shops(
    services: Services, saleor: SaleorClient, installation: OpenInstallation, accounts: Sequence[MerchantAccount]
) -> None:
    """Store the name that the store has in Saleor in those accounts for which staff have chosen none.

    Without a name payments work as well, so a Saleor that does not answer is only logged.
    """
    unnamed = [account for account in accounts if not account.shop_name]
    if not unnamed:
        return
    try:
        found = await fetch_shop_name(saleor, installation, timeout=_TIMEOUT)
        name = None if found is None else shop_name(found[:LONGEST_SHOP_NAME].strip())
    except (SaleorError, ValueError) as error:
        _log.info("shop_name.not_read", saleor=installation.saleor_api_url, error=type(error).__name__)
        return
    if name is None:
        return
    for account in unnamed:
        await services.accounts.change(account.id, shop_name=name)
