"""The pages that the manifest names beside the app's own."""

import httpx2
import pytest

from app.dashboard.router import create_dashboard_router
from app.security_headers import SecureApp


@pytest.mark.parametrize(
    ("path", "words"),
    [("/support", "saleor-gateway payments show"), ("/privacy", "never kept")],
)
async def test_support_and_privacy_are_real_pages(path: str, words: str) -> None:
    app = SecureApp()
    app.include_router(create_dashboard_router(app_name="Payments", app_version="1.2.3"))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://app.test") as browser:
        page = await browser.get(path)
    assert page.status_code == 200
    assert words in page.text
    assert "1.2.3" in page.text
    assert "frame-ancestors" in page.headers["content-security-policy"]
