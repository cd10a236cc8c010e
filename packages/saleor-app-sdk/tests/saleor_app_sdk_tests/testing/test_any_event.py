"""Events that this Saleor sends only when told to: a tax app is tested with the body that its test wants."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fastapi import FastAPI

from saleor_app_sdk import AppInfo, DataResponse, InMemoryInstallationStore, SaleorApp, WebhookContext
from saleor_app_sdk.testing import FakeSaleor, serving_app_in_thread

TAXES = """subscription { event { ... on CalculateTaxes {
  taxBase { currency lines { quantity unitPrice { amount } } shippingPrice { amount } }
} } }"""


def create_tax_app(url: str) -> FastAPI:
    info = AppInfo("example.taxes", "Taxes", "1.0.0", "Us", "20 % on everything.", permissions=("HANDLE_TAXES",))
    saleor = SaleorApp(info=info, api_base_url=url, store=InMemoryInstallationStore())

    @saleor.webhook("CHECKOUT_CALCULATE_TAXES", query=TAXES)
    async def taxes(event: Mapping[str, Any], context: WebhookContext) -> DataResponse:
        prices = [line["quantity"] * line["unitPrice"]["amount"] for line in event["taxBase"]["lines"]]
        return DataResponse(data={"lines": [{"total_gross_amount": price * Decimal("1.2")} for price in prices]})

    app = FastAPI()
    app.include_router(saleor.router())
    return app


async def test_tax_app_answers_the_event_that_a_test_sends(saleor: FakeSaleor) -> None:
    with serving_app_in_thread(create_tax_app) as app_url:
        assert (await saleor.install(f"{app_url}/api/manifest", ["HANDLE_TAXES"])).status == "INSTALLED"
        lines = [{"quantity": 3, "unitPrice": {"amount": 0.10}, "sku": "not selected"}]
        [delivery] = await saleor.send_event(
            "CHECKOUT_CALCULATE_TAXES", {"taxBase": {"currency": "UAH", "lines": lines}}
        )
        assert (delivery.status, delivery.answer) == (200, '{"lines":[{"total_gross_amount":0.36}]}'), (
            "not 0.36000000000000004"
        )
        assert delivery.unplayed == ["event.taxBase.shippingPrice"], "the test forgot it"
        sent = json.loads(delivery.body)
        assert sent["taxBase"]["lines"] == [{"quantity": 3, "unitPrice": {"amount": 0.1}}]

        [failed] = await saleor.send_event("CHECKOUT_CALCULATE_TAXES", {"taxBase": None})
        assert failed.status == 400
        assert await saleor.send_event("ORDER_PAID", {}) == [], "nobody has subscribed to it"
