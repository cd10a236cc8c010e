"""Every answer of the whole app has the headers of its kind, over HTTP, whoever in it makes the answer."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from fastapi import APIRouter, Request

from app.main import create_app
from app.settings import Settings
from app.store.errors import DatabaseUnavailableError
from app.web.security_headers import PageKind, SecureApp, route_class_for
from app.web.shopper import view_builder
from app.web.static import version
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import serve_app
from tests.conftest import MigratedDatabases

DASHBOARD = "https://dashboard.example.com"
PRIVATE = {
    "cache-control": "no-store, no-transform",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
NOTHING = "default-src 'none'"
OWN_FILES = (
    "style-src 'self'; script-src 'self'; connect-src 'self'; font-src 'self'; img-src {images}; base-uri 'none'"
)


def page(forms: str, framed_by: str, images: str = "'self'") -> dict[str, str]:
    """Return the headers of a page."""
    policy = f"{NOTHING}; {OWN_FILES.format(images=images)}; form-action {forms}; frame-ancestors {framed_by}"
    return PRIVATE | {"content-security-policy": policy}


FOR_MACHINES = PRIVATE | {"content-security-policy": f"{NOTHING}; frame-ancestors 'none'"}
IN_DASHBOARD = page("'none'", DASHBOARD)
IN_WIDGET = page("'self'", DASHBOARD)
OF_SHOPPER = page("'none'", "'none'", "'self' https:") | {"x-robots-tag": "noindex"}  # a shop's logo is anywhere
IMAGE = PRIVATE | {"content-security-policy": NOTHING, "cross-origin-resource-policy": "cross-origin"}
FILE = {"cache-control": "no-cache, no-transform", "x-content-type-options": "nosniff"}
VERSIONED_FILE = FILE | {"cache-control": "public, max-age=31536000, immutable, no-transform"}
NAMES = {name for kind in (FOR_MACHINES, OF_SHOPPER, IMAGE, FILE) for name in kind} | {"x-frame-options", "set-cookie"}


@pytest.fixture
async def http(tmp_path: Path, migrated: MigratedDatabases, clock: Clock) -> AsyncIterator[httpx2.AsyncClient]:
    """The whole app behind a real server, which starts it as in production."""
    settings = Settings(
        database_url=await migrated.sqlite(),
        data_dir=tmp_path / "data",
        base_url="https://pay.example.com",
        dashboard_origins=(DASHBOARD,),
        worker=False,
    )
    async with (
        serve_app(create_app(settings, clock), lifespan="on") as url,
        httpx2.AsyncClient(base_url=url, trust_env=False) as http,
    ):
        yield http


def told(answer: httpx2.Response) -> dict[str, str]:
    """Return what the answer tells browsers that they may do."""
    return {name: answer.headers[name] for name in NAMES if name in answer.headers}


@pytest.mark.threat("xss-dashboard", "xss-shopper", "clickjacking")
@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/", 200, IN_DASHBOARD),
        ("GET", "/payments/7", 200, IN_DASHBOARD),
        ("GET", "/privacy", 200, IN_DASHBOARD),
        ("POST", "/payments", 405, IN_DASHBOARD),
        ("GET", "/?theme=dark&theme=light", 200, IN_DASHBOARD),
        ("POST", "/widgets/order", 401, IN_WIDGET),
        ("POST", "/widgets/order/link", 401, IN_WIDGET),
        ("GET", "/widgets/order?theme=dark", 200, IN_WIDGET),
        ("GET", "/widgets/order/link", 405, IN_WIDGET),
        ("GET", "/pay/nobodysOrder", 404, OF_SHOPPER),
        ("GET", "/pay/return/nobodysOrder", 404, OF_SHOPPER),
        ("POST", "/pay/return/nobodysOrder", 303, OF_SHOPPER),
        ("DELETE", "/pay/return/nobodysOrder", 405, OF_SHOPPER),
        ("GET", "/pay/nobodysOrder.svg", 404, IMAGE),
        ("GET", "/pay/nobodysOrder.png", 404, IMAGE),
        ("POST", "/pay/nobodysOrder.png", 405, IMAGE),
        ("GET", "/static/pages.css", 200, FILE),
        ("GET", f"/static/{version()}/pages.css", 200, VERSIONED_FILE),
        ("GET", "/static/of-another-version/pages.css", 200, FILE),
        ("GET", f"/static/{version()}/nothing.css", 404, FILE),
        ("GET", "/static/nothing.css", 404, FILE),
        ("POST", "/static/pages.css", 405, FILE),
        ("GET", "/static/a/b/pages.css", 404, FILE),
        ("GET", "/readyz", 200, FOR_MACHINES),
        ("GET", "/api/manifest", 200, FOR_MACHINES),
        ("POST", "/api/register", 400, FOR_MACHINES),
        ("POST", "/api/webhooks/gateway/nobodys", 404, FOR_MACHINES),
        ("DELETE", "/api/webhooks/gateway/nobodys", 405, FOR_MACHINES),
        ("DELETE", "/api/webhooks/gateway/nobodys/", 405, FOR_MACHINES),
        ("GET", "/parts/payments", 401, FOR_MACHINES),
        ("POST", "/parts/payments.csv", 401, FOR_MACHINES),
        ("GET", "/nowhere", 404, FOR_MACHINES),
        ("GET", "/static", 404, FOR_MACHINES),
    ],
)
async def test_answers_of_every_kind(
    http: httpx2.AsyncClient, method: str, path: str, status: int, kind: dict[str, str]
) -> None:
    answer = await http.request(method, path)
    assert (answer.status_code, told(answer)) == (status, kind)


async def test_notification_to_an_address_with_a_slash_is_received_like_any_other(http: httpx2.AsyncClient) -> None:
    """Some gateways append one to the addresses that they were given."""
    for path in ("/api/webhooks/gateway/nobodys", "/api/webhooks/gateway/nobodys/"):
        answer = await http.post(path, data={"data": "e30=", "signature": "x"})
        assert (answer.status_code, answer.content) == (404, b"")  # not the words of an address that does not exist


@pytest.mark.threat("words-in-errors")
@pytest.mark.parametrize(
    ("error", "status"), [(DatabaseUnavailableError("no connection"), 503), (RuntimeError("a mistake"), 500)]
)
async def test_answers_to_what_goes_wrong(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def broken(*_args: object) -> None:
        raise error

    monkeypatch.setattr(view_builder, "find_view", broken)
    for path, kind in (("/pay/order", OF_SHOPPER), ("/pay/order.svg", IMAGE)):
        answer = await http.get(path)
        assert (answer.status_code, told(answer)) == (status, kind)
        assert str(error) not in answer.text
        assert answer.headers.get("retry-after") == ("10" if status == 503 else None)


@pytest.mark.threat("huge-body")
@pytest.mark.parametrize(("kind", "headers"), [(PageKind.DASHBOARD, IN_DASHBOARD), (PageKind.MACHINES, FOR_MACHINES)])
async def test_what_fits_no_parameter_and_what_is_too_long(kind: PageKind, headers: dict[str, str]) -> None:
    router = APIRouter(route_class=route_class_for(kind))

    @router.post("/{number}")
    async def read(number: int, request: Request) -> bytes:
        assert number
        return await request.body()

    app = SecureApp(frame_ancestors=(DASHBOARD,), max_body_size=10)
    app.include_router(router)
    async with serve_app(app) as url, httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        for path, body, status in (("/one", b"", 422), ("/1", b"x" * 11, 413), ("/1", b"x", 200)):
            answer = await http.post(path, content=body)
            assert (answer.status_code, told(answer)) == (status, headers)
