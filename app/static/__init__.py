"""What browsers fetch from `/static`: style sheets, small scripts, and the app's logo.

A closed list, not a folder: whatever else lies beside these files is not published by accident.
"""

import os
from pathlib import Path

from starlette.staticfiles import StaticFiles

from app.security_headers import PageKind

_HERE = Path(__file__).parent
_MANIFEST = _HERE.parent.parent / "manifest"

PUBLISHED: dict[str, Path] = {
    "theme.css": _HERE / "theme.css",
    "shopper.css": _HERE / "shopper.css",
    "shopper.js": _HERE / "shopper.js",
    "dashboard.css": _HERE / "dashboard.css",
    "listing.css": _HERE / "listing.css",
    "payment.css": _HERE / "payment.css",
    "set_up.css": _HERE / "set_up.css",
    "order.css": _HERE / "order.css",
    "widget.js": _HERE / "widget.js",
    "attention.css": _HERE / "attention.css",
    "bridge.js": _HERE / "bridge.js",
    "copying.js": _HERE / "copying.js",
    "file.js": _HERE / "file.js",
    "forms.js": _HERE / "forms.js",
    "pages.js": _HERE / "pages.js",
    "logo.png": _MANIFEST / "logo.png",
}


class _PublishedFiles(StaticFiles):
    """Starlette's static files (ETag, 304, HEAD, ranges), restricted to `PUBLISHED`."""

    page_kind = PageKind.FILE

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        file = PUBLISHED.get(path)
        return (str(file), file.stat()) if file is not None else ("", None)


def static_files() -> StaticFiles:
    """The ASGI app to be mounted at `/static`; anything not in `PUBLISHED` is 404.

    The pages name these files below their own base path, so the whole app may also live below one.
    """
    return _PublishedFiles(directory=_HERE)
