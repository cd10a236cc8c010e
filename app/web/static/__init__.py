"""The files that browsers fetch from `/static`: style sheets, small scripts, and the app's logo.

It is a closed list, not a folder, so that no other file beside these is published by accident. Pages refer to their
files below the version of all of them (`/static/0123456789ab/pages.js`), so that browsers cache them for good and never
use stale ones; a file that is referred to without it (the logo, in the manifest) is requested again each time.

The storefront kit is for the pages of storefronts. Its address contains its own version, which changes only with the
kit itself, and pages of any origin may load it.
"""

import base64
import hashlib
import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.endpoints import HTTPEndpoint
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web.security_headers import PageKind

_HERE = Path(__file__).parent
_LOGO = _HERE.parents[2] / "manifest" / "logo.png"
_SHARED = ("theme.css", "dashboard.css")

STYLE_SHEETS: Mapping[str, tuple[str, ...]] = {
    "pages.css": (*_SHARED, "listing.css", "payment.css", "attention.css", "money.css", "set_up.css", "overview.css"),
    "widget.css": (*_SHARED, "order.css"),
    "text.css": _SHARED,
    "shopper.css": ("theme.css", "shopper.css"),
}
"""The one style sheet of each kind of page, and the files from which it is assembled."""

SCRIPTS = ("pages.js", "widget.js", "shopper.js")
"""The one script of each kind of page: its imports are inlined, so that a browser fetches one file."""

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^ *(?://.*|/\*\*.*\*/)$", re.MULTILINE)
KIT = "gateway-payment.js"
KIT_FOLDER = _HERE / "storefront"
"""The storefront kit, which is also published to npm; only the script itself is served."""

FONT = "inter.woff2"
"""Inter for Latin and Cyrillic, with its licence beside it; ``packaging/font/make.sh`` makes it."""

PUBLISHED = (*STYLE_SHEETS, *SCRIPTS, KIT, FONT, "logo.png")
_FOR_OTHER_ORIGINS = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    media_type: str
    etag: str


@cache
def _files() -> Mapping[str, _File]:
    contents = {name: _style_sheet(parts) for name, parts in STYLE_SHEETS.items()}
    contents |= {name: _script(name) for name in SCRIPTS} | {KIT: _kit()}
    # The font's address changes with the font alone, so that a new version of the app does not fetch it again.
    contents |= {name: contents[name].replace(FONT, f"../{font_version()}/{FONT}") for name in STYLE_SHEETS}
    files = {name: text.encode() for name, text in contents.items()}
    files |= {"logo.png": _LOGO.read_bytes(), FONT: _font()}
    return {name: _file(name, content) for name, content in files.items()}


def _style_sheet(parts: Sequence[str]) -> str:
    """Return a style sheet with its dark colours, written once, in both of the rules that need them."""
    text = "\n".join((_HERE / part).read_text(encoding="utf-8") for part in parts)
    _, _, colours = text.partition(':root[data-theme="dark"] {\n')
    return text.replace("    /* dark */\n", colours.partition("  }\n")[0])


def _script(name: str) -> str:
    """Return a script with all that it imports before it, once, each imported script in a scope of its own."""
    modules: dict[str, str] = {}

    def link(text: str) -> str:
        for found in _IMPORT.finditer(text):
            if found[2] not in modules:
                source = (_HERE / f"{found[2]}.js").read_text(encoding="utf-8")
                body, exported = _EXPORT.sub("", link(source)), ", ".join(_EXPORTED.findall(source))
                modules[found[2]] = f"const {_module(found[2])} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"
        return _IMPORT.sub(lambda found: f"const {found[1]} = {_module(found[2])};", text)

    script = link((_HERE / name).read_text(encoding="utf-8"))
    return "\n".join([*modules.values(), script])


def _kit() -> str:
    """Return the kit as shoppers fetch it: without its comments below the first, in the lines that it has on npm."""
    about, blank, code = (KIT_FOLDER / KIT).read_text(encoding="utf-8").partition("\n\n")
    return about + blank + _COMMENT.sub("", code)


def _module(name: str) -> str:
    return f"{name}Module"


def _font() -> bytes:
    return (_HERE / "inter" / FONT).read_bytes()


def _file(name: str, content: bytes) -> _File:
    # Not every system knows the type of fonts.
    media_type = "font/woff2" if name == FONT else mimetypes.guess_type(name)[0]
    return _File(content, media_type or "application/octet-stream", f'"{hashlib.sha256(content).hexdigest()[:24]}"')


@cache
def version() -> str:
    """Return the version of all files, which changes when any of them changes."""
    return hashlib.sha256("".join(file.etag for file in _files().values()).encode()).hexdigest()[:12]


def kit_tag(base_url: str) -> str:
    """Return the line of HTML with which a storefront's page loads the kit from the app at ``base_url``.

    With the integrity attribute (W3C Subresource Integrity) a browser runs exactly these bytes or nothing.
    """
    content = _files()[KIT].content
    integrity = base64.b64encode(hashlib.sha384(content).digest()).decode()
    src = f"{base_url.rstrip('/')}/static/{kit_version()}/{KIT}"
    return f'<script type="module" src="{src}" integrity="sha384-{integrity}" crossorigin="anonymous"></script>'


@cache
def kit_version() -> str:
    """Return the version of the kit, which changes when its script changes."""
    return hashlib.sha256(_files()[KIT].content).hexdigest()[:12]


@cache
def font_version() -> str:
    """Return the version of the font, which changes when the font changes."""
    return hashlib.sha256(_font()).hexdigest()[:12]


def _version_of(name: str) -> str:
    """Return the version under which a file is served for good."""
    if name == KIT:
        return kit_version()
    return font_version() if name == FONT else version()


class _Files(HTTPEndpoint):
    page_kind = PageKind.FILE

    async def get(self, request: Request) -> Response:
        """Return a file. While two versions of the app run side by side, a page may refer to a file of the other."""
        name = request.path_params["name"]
        file = _files().get(name)
        if file is None:
            return Response(status_code=404)
        if request.path_params.get("version") == _version_of(name):
            request.scope["page_kind"] = PageKind.VERSIONED_FILE
        headers = {"ETag": file.etag} | (_FOR_OTHER_ORIGINS if name == KIT else {})
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.media_type, headers=headers)


class _PublishedFiles:
    page_kind = PageKind.FILE

    def __init__(self) -> None:
        routes = [Route("/{name}", _Files), Route("/{version}/{name}", _Files)]
        # Compression is safe: the files contain no secret that could be guessed from the compressed length.
        self._app = GZipMiddleware(Router(routes, redirect_slashes=False))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def static_files() -> ASGIApp:
    """Return the ASGI app to be mounted at `/static`; it returns 404 for anything not in `PUBLISHED`."""
    return _PublishedFiles()
