"""What is published below /static, and what is not."""

import re
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from app.dashboard.renderer import TEMPLATES
from app.i18n.translation import translation
from app.security_headers import SecureApp
from app.static import PUBLISHED, static_files, version


@pytest.fixture
async def visitor() -> AsyncIterator[httpx2.AsyncClient]:
    app = SecureApp()
    app.mount("/static", static_files())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://app") as visitor:
        yield visitor


@pytest.mark.parametrize("name", sorted(PUBLISHED))
async def test_published_files_are_served_as_what_they_are(visitor: httpx2.AsyncClient, name: str) -> None:
    kind = {"css": "text/css", "js": "text/javascript", "png": "image/png"}[name.rpartition(".")[2]]

    answer = await visitor.get(f"/static/{name}")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["x-content-type-options"] == "nosniff"
    again = await visitor.get(f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "path",
    [
        "__init__.py",
        "logo.svg",
        "",
        "../shopper/router.py",
        "%2e%2e/shopper/router.py",
        "%00",
        "a" * 5000,
    ],
)
async def test_nothing_else_is(visitor: httpx2.AsyncClient, path: str) -> None:
    assert (await visitor.get(f"/static/{path}")).status_code == 404


async def test_the_logo_is_what_saleor_asks_for(visitor: httpx2.AsyncClient) -> None:
    """A square PNG of at least 256 pixels (Saleor contract, B 2.1)."""
    logo = (await visitor.get("/static/logo.png")).content

    assert logo.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", logo[16:24])
    assert width == height >= 256
    assert len(logo) < 10 * 1024 * 1024


async def test_what_is_named_by_its_version_is_kept_for_good_and_sent_compressed(visitor: httpx2.AsyncClient) -> None:
    answer = await visitor.get(f"/static/{version()}/pages.css")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.text == (await visitor.get("/static/pages.css")).text


def test_a_page_fetches_what_its_script_imports_beside_it_and_not_after_it() -> None:
    for page, script in (("shell.html", "pages.js"), ("order/frame.html", "widget.js")):
        source = (Path("app/static") / script).read_text()
        imported = set(re.findall(r'^import .* from "\./(.*)\.js";$', source, re.MULTILINE))
        html = TEMPLATES.render(page, translation("en"), base="", theme=None, app_name="Pay", app_version="1")
        assert set(re.findall(r'"modulepreload" href="/static/[0-9a-f]{12}/(.*)\.js"', html)) == imported, page
        assert len(re.findall('rel="stylesheet"', html)) == 1
