"""What is published below /static, and what is not."""

import base64
import hashlib
import os
import re
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urljoin

import httpx2
import pytest

from app.i18n.translation import translation
from app.web import static
from app.web.dashboard.renderer import TEMPLATES
from app.web.security_headers import SecureApp
from app.web.static import (
    FONT,
    KIT,
    KIT_FOLDER,
    PUBLISHED,
    STYLE_SHEETS,
    font_version,
    kit_tag,
    kit_version,
    static_files,
    version,
)

FOLDER = Path(static.__file__).parent


@pytest.fixture
async def visitor() -> AsyncIterator[httpx2.AsyncClient]:
    app = SecureApp()
    app.mount("/static", static_files())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://app") as visitor:
        yield visitor


@pytest.mark.parametrize("name", sorted(PUBLISHED))
async def test_published_files_are_served_as_what_they_are(visitor: httpx2.AsyncClient, name: str) -> None:
    kind = {"css": "text/css", "js": "text/javascript", "png": "image/png", "woff2": "font/woff2"}[
        name.rpartition(".")[2]
    ]

    answer = await visitor.get(f"/static/{name}")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["x-content-type-options"] == "nosniff"
    again = await visitor.get(f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.threat("files-of-the-server")
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
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable, no-transform"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.text == (await visitor.get("/static/pages.css")).text


@pytest.mark.threat("supply-chain")
async def test_the_storefront_kit_can_be_loaded_by_pages_of_others_and_only_as_it_is(
    visitor: httpx2.AsyncClient,
) -> None:
    tag = re.fullmatch(
        r'<script type="module" src="https://pay.example.com/app(/static/[0-9a-f]{12}/gateway-payment.js)"'
        r' integrity="sha384-([A-Za-z0-9+/=]{64})" crossorigin="anonymous"></script>',
        kit_tag("https://pay.example.com/app/"),
    )
    assert tag is not None
    answer = await visitor.get(tag[1], headers={"Origin": "https://shop.example.com"})
    assert base64.b64encode(hashlib.sha384(answer.content).digest()).decode() == tag[2]
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable, no-transform"
    assert int(answer.headers["content-length"]) < 20_000, "compressed"


async def test_kit_is_served_without_its_comments_in_the_lines_of_its_source(visitor: httpx2.AsyncClient) -> None:
    """What shoppers wait for is code; what a developer reads in a stack trace is found in the package of npm, too."""
    served = (await visitor.get(f"/static/{KIT}")).text.splitlines()
    source = (KIT_FOLDER / KIT).read_text().splitlines()
    assert served[0] == source[0]
    assert len(served) == len(source)
    left_out = [line.strip() for line, sent in zip(source, served, strict=True) if line != sent]
    assert len(left_out) > 50
    assert [line for line in left_out if not line.startswith(("//", "/** "))] == []
    assert [line for line in served[4:] if line.lstrip().startswith(("//", "/**"))] == []


async def test_the_kits_address_changes_with_the_kit_alone(visitor: httpx2.AsyncClient) -> None:
    assert kit_version() != version()
    for another in (version(), "0123456789ab"):
        answer = await visitor.get(f"/static/{another}/{KIT}")
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache, no-transform")
    other = await visitor.get(f"/static/{kit_version()}/pages.css")
    assert (other.headers["cache-control"], "access-control-allow-origin" in other.headers) == (
        "no-cache, no-transform",
        False,
    )


@pytest.mark.parametrize("sheet", sorted(STYLE_SHEETS))
async def test_font_is_kept_for_good_at_an_address_of_its_content(visitor: httpx2.AsyncClient, sheet: str) -> None:
    here = f"/static/{version()}/{sheet}"
    [address] = re.findall(r'url\("([^"]*)"\)', (await visitor.get(here)).text)
    answer = await visitor.get(urljoin(here, address))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable, no-transform"
    assert hashlib.sha256(answer.content).hexdigest().startswith(font_version())
    assert urljoin(here, address) == f"/static/{font_version()}/{FONT}"  # another release has the same
    assert answer.content.startswith(b"wOF2")
    assert len(answer.content) < 50_000
    assert "Open Font License" in (FOLDER / "inter" / "LICENSE").read_text()


def imports_of(script: Path) -> set[Path]:
    """Return the scripts that a script imports, and those that they import."""
    names = re.findall(r'^import [^}]*} from "\./(.*)\.js";$', script.read_text(), re.MULTILINE)
    direct = {script.with_name(f"{name}.js") for name in names}
    return direct.union(*(imports_of(imported) for imported in direct))


async def test_a_page_fetches_one_style_sheet_and_one_script_with_all_that_it_imports(
    visitor: httpx2.AsyncClient,
) -> None:
    for page, script in (("shell.html", "pages.js"), ("order/shell.html", "widget.js")):
        html = TEMPLATES.render(page, translation("en"), base="", theme=None, app_name="Pay", app_version="1")
        [fetched] = re.findall(r'<script [^>]*src="([^"]*)"', html)
        assert fetched == f"/static/{version()}/{script}"
        assert len(re.findall(r'<link rel="(?!icon)', html)) == 1
        served = (await visitor.get(fetched)).text
        assert re.findall(r"^(?:import|export)\b", served, re.MULTILINE) == []
        for imported in imports_of(FOLDER / script):
            assert served.count(max(imported.read_text().splitlines(), key=len).removeprefix("export ")) == 1


def test_dark_colours_are_the_same_whoever_asks_for_them() -> None:
    for sheet in ("pages.css", "shopper.css"):
        text = static._files()[sheet].content.decode()
        rule = r"{} \{{\n(    color-scheme: dark;.*?)\n  \}}"
        by_system, by_choice = (
            re.findall(rule.format(re.escape(selector)), text, re.DOTALL)
            for selector in (':root:not([data-theme="light"])', ':root[data-theme="dark"]')
        )
        assert len(by_choice) == 1
        assert by_system == by_choice
        assert "/* dark */" not in text


def test_files_are_the_same_whatever_the_encoding_of_the_systems_language() -> None:
    """In uk_UA.KOI8-U the button said Ukrainian in letters that are none, and another integrity was printed for it."""
    print_versions = "from app.web.static import kit_version, version; print(kit_version(), version())"
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = subprocess.run(
        [sys.executable, "-c", print_versions], env=os.environ | ascii_only, check=False, capture_output=True, text=True
    )
    assert said.stdout.split() == [kit_version(), version()], said.stderr
