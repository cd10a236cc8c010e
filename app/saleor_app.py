"""This release as a Saleor app: its webhooks, its order page widget, its permissions, its addresses.

The web app serves it; a command compares it with what a Saleor has installed. This module opens no connection and sends
no request.
"""

from dataclasses import replace
from importlib.metadata import version

import httpx2

from app import DISTRIBUTION
from app.bootstrap import MANIFEST
from app.flows.webhooks import CUSTOMER_PERMISSION, define_webhooks
from app.services import Services
from app.settings import Settings
from app.web.dashboard.order.widget import ORDER_WIDGET
from saleor_app_sdk.app import AppInfo, SaleorApp
from saleor_app_sdk.graphql import SaleorClient


def create_saleor_app(
    settings: Settings, services: Services, http: httpx2.AsyncClient, client: SaleorClient
) -> SaleorApp:
    """Return the Saleor app for these settings, with everything defined on it."""
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
        allowed_saleor_urls=settings.allowed_saleor_urls,
        store=services.installations,
        http=http,
        client=client,
        now=services.now,
        max_event_age=settings.webhook_oldest,
        budget=services.schedule.budget,
    )
    define_webhooks(saleor, services, customers=settings.customer_deletions)
    saleor.add_widget(ORDER_WIDGET)
    return saleor
