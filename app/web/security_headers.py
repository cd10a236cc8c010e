"""The security headers of every kind of page, which are added to all responses in one place.

A route declares the kind of its page (``route_class_for``). The default is a response for machines, which a browser
must not use for anything. Error responses are of their route's kind, also those that FastAPI and Starlette send.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.framing import ANY_DASHBOARD, frame_ancestors_directive


class PageKind(Enum):
    """The purpose of a response. A route or a mounted app has it as ``page_kind``."""

    MACHINES = auto()
    """Data for programs and for the scripts of our pages. It is personal, and no browser displays it."""
    DASHBOARD = auto()
    """A page in a frame of the Saleor Dashboard."""
    WIDGET = auto()
    """The same, with forms that the page submits to its own origin."""
    SHOPPER = auto()
    """A page that a shopper opens: neither framed nor indexed by search engines."""
    IMAGE = auto()
    """An image that storefronts embed in their pages."""
    FILE = auto()
    """A public file that is the same for all: revalidated each time, so that no page gets yesterday's style sheet."""
    VERSIONED_FILE = auto()
    """The same, under an address that identifies its content: cached indefinitely."""


def route_class_for(kind: PageKind) -> type[APIRoute]:
    """Return the ``route_class`` of a router whose routes are all of this kind."""
    return type(f"{kind.name.title()}Route", (APIRoute,), {"page_kind": kind})


class SecureApp(FastAPI):
    """A FastAPI app that adds the headers of their kind to all responses.

    ``frame_ancestors`` are the origins of Dashboards (``frame_ancestors_directive``, which raises `ValueError` for
    anything that is not an origin). ``options`` are FastAPI's.
    """

    def __init__(self, *, frame_ancestors: tuple[str, ...] = ANY_DASHBOARD, **options: Any) -> None:
        super().__init__(**options)
        self._headers = _build_headers(frame_ancestors)

    def build_middleware_stack(self) -> ASGIApp:
        """Wrap FastAPI's stack. A middleware added to it would not see the responses of the stack's outer layers."""
        return _SecurityHeaders(super().build_middleware_stack(), self._headers)


class _SecurityHeaders:
    def __init__(self, app: ASGIApp, headers: Mapping[PageKind, Mapping[str, str]]) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers[_page_kind(scope)])
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _page_kind(scope: Scope) -> PageKind:
    """Return the kind set while handling the request, else that of the matched route or mounted app."""
    if isinstance(kind := scope.get("page_kind"), PageKind):
        return kind
    for found in (scope.get("route"), scope.get("endpoint")):
        kind = getattr(found, "page_kind", None)
        if isinstance(kind, PageKind):
            return kind
    return PageKind.MACHINES


def _build_headers(dashboards: tuple[str, ...]) -> dict[PageKind, dict[str, str]]:
    # Networks for the delivery of pages rewrite scripts and e-mail addresses otherwise, and a shop's page runs the
    # payment button only as it was written.
    unchanged = "no-transform"
    private = {
        "Cache-Control": f"no-store, {unchanged}",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    nothing = "default-src 'none'"
    framed, unframed = frame_ancestors_directive(dashboards), frame_ancestors_directive(())
    own = "; ".join(f"{kind}-src 'self'" for kind in ("style", "script", "connect", "font", "img"))
    page = f"{nothing}; {own}; base-uri 'none'"

    def policy(*directives: str) -> dict[str, str]:
        return private | {"Content-Security-Policy": "; ".join(directives)}

    return {
        PageKind.MACHINES: policy(nothing, unframed),
        PageKind.DASHBOARD: policy(page, "form-action 'none'", framed),
        PageKind.WIDGET: policy(page, "form-action 'self'", framed),
        # A shop's logo may be hosted anywhere.
        PageKind.SHOPPER: policy(
            page.replace("img-src 'self'", "img-src 'self' https:"), "form-action 'none'", unframed
        )
        | {"X-Robots-Tag": "noindex"},
        PageKind.IMAGE: policy(nothing) | {"Cross-Origin-Resource-Policy": "cross-origin"},
        PageKind.FILE: {"Cache-Control": f"no-cache, {unchanged}", "X-Content-Type-Options": "nosniff"},
        PageKind.VERSIONED_FILE: {
            "Cache-Control": f"public, max-age=31536000, immutable, {unchanged}",
            "X-Content-Type-Options": "nosniff",
        },
    }
