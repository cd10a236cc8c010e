"""The pages that the manifest names beside the app's own: anybody may open them, and reads them in their language."""

import httpx2
import pytest

from app.bootstrap import MANIFEST
from app.web.dashboard.about_pages import create_about_router
from app.web.security_headers import SecureApp
from saleor_app_sdk.app import AppInfo


async def opened(path: str, *, language: str = "en", method: str = "GET", **settings: str) -> httpx2.Response:
    app = SecureApp()
    app.include_router(create_about_router(app_name="Payments", app_version="1.2.3", kept_days=540, **settings))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://app.test") as browser:
        headers = {"Accept-Language": language, "Sec-Fetch-Dest": "document"}
        return await browser.request(method, path, headers=headers)


@pytest.mark.parametrize(
    ("path", "english", "ukrainian"),
    [
        ("/about", "Both ledgers agree.", "платіж"),
        ("/support", "saleor-gateway payments show", "платіж"),
        ("/privacy", "never stored", "Що ніколи не зберігається"),
    ],
)
async def test_they_are_real_pages_in_the_readers_language(path: str, english: str, ukrainian: str) -> None:
    page = await opened(path)
    assert page.status_code == 200
    assert english in page.text
    assert '<html lang="en">' in page.text
    assert "1.2.3" in page.text
    assert ("540 days" in page.text) is (path == "/privacy")
    assert "frame-ancestors" in page.headers["content-security-policy"]
    for other in (await opened(path, language="uk-UA"), await opened(f"{path}?lang=uk")):
        assert '<html lang="uk">' in other.text
        assert ukrainian in other.text
    assert "<html" in (await opened(f"{path}?lang=%3Cb%3E")).text


async def test_the_homepage_leads_on_to_help_and_privacy() -> None:
    page = (await opened("/about", base="/pay")).text
    assert 'href="/pay/support"' in page
    assert 'href="/pay/privacy"' in page
    page = (await opened("/about", support_url="https://help.example.com", privacy_url="/privacy")).text
    assert 'href="https://help.example.com"' in page


async def test_every_link_of_the_manifest_is_one_of_them() -> None:
    info = AppInfo.read(MANIFEST, version="1")
    assert (info.homepage_url, info.support_url, info.privacy_url) == ("/about", "/support", "/privacy")
    for path in (info.homepage_url, info.support_url, info.privacy_url):
        assert (await opened(str(path))).status_code == 200
        assert (await opened(str(path), method="HEAD")).status_code == 200
