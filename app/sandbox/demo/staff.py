"""The store's staff, in the played Dashboard: they press buttons on an order, and read the app's pages."""

from dataclasses import replace
from urllib.parse import quote

import httpx2

from app.saleor.testing.client import FakeSaleor
from app.sandbox.demo.browser import Browser, Page, read_page


class Staff:
    """Somebody who may do everything. Their browser runs no script: what one would fetch, they fetch."""

    def __init__(self, saleor: FakeSaleor, app_url: str, browser: Browser, http: httpx2.AsyncClient) -> None:
        self._saleor = saleor
        self._app_url = app_url
        self._browser = browser
        self._http = http

    async def press(self, order_id: str, transaction_id: str, button: str, amount: str) -> Page:
        """Press a button at one of an order's payments. Raises LookupError when there is none."""
        page = await self._browser.open(f"{self._saleor.dashboard_url}orders/{quote(order_id)}")
        mine = [form for form in page.forms if form.fields.get("transaction") == transaction_id]
        return await self._browser.press(replace(page, forms=tuple(mine)), button, amount=amount)

    async def read(self, path: str) -> Page:
        """Read one of the app's pages, as the Dashboard's frame shows it."""
        (app,) = await self._saleor.apps()
        token = await self._saleor.access_token(app.id)
        headers = {"Authorization": f"Bearer {token}", "Saleor-Api-Url": self._saleor.api_url}
        return read_page(await self._http.get(f"{self._app_url}/parts{path}", headers=headers))
