"""What is published below /static, and what is not."""

import struct
from collections.abc import AsyncIterator

import httpx2
import pytest

from app.security_headers import SecureApp
from app.static import PUBLISHED, static_files


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
