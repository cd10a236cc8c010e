"""The app's pages in the Dashboard over HTTP, without a token: whom they let frame them."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from app.web import dashboard
from app.web.dashboard.router import create_dashboard_router
from app.web.framing import ANY_DASHBOARD, frame_ancestors_directive
from app.web.security_headers import SecureApp
from app.web.static import static_files

SALEOR = "https://store.example.com/graphql/"
TEMPLATES = Path(dashboard.__file__).parent / "templates"


@pytest.fixture
async def visitor() -> AsyncIterator[httpx2.AsyncClient]:
    app = SecureApp()
    app.include_router(create_dashboard_router(app_name="Pay <Here>", app_version="1.2.3"))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://app") as visitor:
        yield visitor


@pytest.mark.parametrize(
    "path", ["/", "/payments", "/payments/7", "/set-up", "/set-up/channels", "/set-up/accounts/new", "/set-up/try"]
)
async def test_every_page_is_the_same_empty_frame(visitor: httpx2.AsyncClient, path: str) -> None:
    answer = await visitor.get(path, params={"saleorApiUrl": SALEOR, "theme": "dark", "id": "QXBwOjE="})
    assert answer.status_code == 200
    assert answer.text == (await visitor.get("/", params={"theme": "dark"})).text
    assert "Pay &lt;Here&gt; 1.2.3" in answer.text
    assert "store.example.com" not in answer.text


@pytest.mark.parametrize("path", ["/", "/payments/7", "/set-up"])
async def test_page_answers_a_monitoring_service_that_asks_for_its_head_only(
    visitor: httpx2.AsyncClient, path: str
) -> None:
    answer = await visitor.head(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")


async def test_the_frame_speaks_the_browsers_language(visitor: httpx2.AsyncClient) -> None:
    assert "Відкрийте цю сторінку" in (await visitor.get("/", headers={"Accept-Language": "uk-UA,en;q=0.5"})).text


@pytest.mark.parametrize(
    ("theme", "told"),
    [("dark", ' data-theme="dark"'), ("light", ' data-theme="light"'), ('"><b', 'Dashboard."'), ("", 'Dashboard."')],
)
async def test_the_page_takes_the_dashboards_theme(visitor: httpx2.AsyncClient, theme: str, told: str) -> None:
    assert f"{told}>" in (await visitor.get("/", params={"theme": theme})).text.partition("<head>")[0]


@pytest.mark.threat("clickjacking", "xss-dashboard")
async def test_the_page_may_be_framed_by_dashboards_and_runs_only_its_own_script(visitor: httpx2.AsyncClient) -> None:
    headers = (await visitor.get("/")).headers

    assert "frame-ancestors https: http://localhost:* http://127.0.0.1:*" in headers["content-security-policy"]
    assert "script-src 'self';" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "x-frame-options" not in headers  # it would overrule the list in old browsers


def test_origins_are_named_one_by_one() -> None:
    assert (
        frame_ancestors_directive(("https://dashboard.example.com", "http://localhost:9000"))
        == "frame-ancestors https://dashboard.example.com http://localhost:9000"
    )
    assert frame_ancestors_directive(()) == "frame-ancestors 'none'"
    assert frame_ancestors_directive(ANY_DASHBOARD)


@pytest.mark.threat("clickjacking")
@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "",
        "https://*",
        "dashboard.example.com",
        "https://dashboard.example.com/apps",
        "https://a.example; script-src *",
        "https://a.example, https://b.example",
        "https://a.example\r\nSet-Cookie: a=b",
        "https://a.example\n",
        "'self'",
        "data:",
    ],
)
def test_what_is_no_origin_is_refused_when_the_app_is_built(origin: str) -> None:
    with pytest.raises(ValueError, match="not an origin"):
        SecureApp(frame_ancestors=(origin,))


async def test_whatever_the_page_links_is_published() -> None:
    app = SecureApp()
    app.include_router(create_dashboard_router(app_name="Pay", app_version="1"))
    app.mount("/static", static_files())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://app.test") as visitor:
        linked = re.findall(r'(?:href|src)="(/static/[^"]*)"', (await visitor.get("/")).text)
        assert [link.rpartition(".")[2] for link in linked] == ["png", "css", "js"]
        for link in linked:
            assert (await visitor.get(link)).status_code == 200, link


def test_every_table_shows_its_rows_as_cards_on_a_phone() -> None:
    """Or as bars, which are as narrow as they have to be. Laid out as cards, it is a table only by its roles."""
    tables = {
        (path.name, table)
        for path in TEMPLATES.rglob("*.html")
        for table in re.findall(r"<table.*?</table>", path.read_text(), re.DOTALL)
    }
    assert len(tables) > 5
    for name, table in tables:
        if not table.startswith('<table class="bars'):
            assert re.match(r'<table class="(\w+ )?stacked" role="table"[ >]', table), name
            assert not re.search(r"<(thead|tbody|tr|th|td)\b(?![^>]* role=)", table), name
