"""What this release is in a Saleor: its webhooks, its part of the order page, its permissions, its addresses.

The web app serves it; a command compares it with what a Saleor has installed. Nothing is opened here, and nobody asked.
"""

from dataclasses import replace
from importlib.metadata import version

import httpx2

from app import DISTRIBUTION
from app.bootstrap import MANIFEST
from app.dashboard.order.widget import ORDER_WIDGET
from app.payments.services import Services
from app.payments.webhooks import CUSTOMER_PERMISSION, define_webhooks
from app.saleor.app import AppInfo, SaleorApp
from app.saleor.graphql import SaleorClient
from app.settings import Settings


def create_saleor_app(
    settings: Settings, services: Services, http: httpx2.AsyncClient, client: SaleorClient
) -> SaleorApp:
    """Return the app as the settings make it, everything defined on it."""
    info = AppInfo.read(MANIFEST, version=version(DISTRIBUTION))
    info = replace(
        info,
        id=settings.id,
        name=settings.name or info.name,
        support_url=settings.support_url or info.support_url,
        privacy_url=settings.privacy_url or info.privacy_url,
        homepage_url=settings.homepage_url or info.homepage_url,
        permissions=(*info.permissions, *([CUSTOMER_PERMISSION] if settings.customer_deletions else [])),
    )
    saleor = SaleorApp(
        info=info,
        manifest_folder=MANIFEST,
        api_base_url=settings.base_url,
        iframe_base_url=settings.iframe_base_url,
        allowed=settings.allowed_saleor_urls,
        store=services.installations,
        http=http,
        client=client,
        now=services.now,
        oldest=settings.webhook_oldest,
        budget=services.schedule.budget,
    )
    define_webhooks(saleor, services, customers=settings.customer_deletions)
    saleor.show(ORDER_WIDGET)
    return saleor
