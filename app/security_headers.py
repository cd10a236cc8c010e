"""What browsers may do with an answer: said here for every kind of page, and put on all answers in one place.

A route says of which kind its page is (``routes_of``); whoever says nothing answers machines, and no browser is to do
anything with that. Errors are of their route's kind, also those that FastAPI and Starlette answer themselves.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.framing import ANY_DASHBOARD, frame_ancestors_directive


class PageKind(Enum):
    """What an answer is for. A route or a mounted app has it as ``page_kind``."""

    MACHINES = auto()
    """What programs and the scripts of our pages ask for. It is personal, and nothing that a browser shows."""
    DASHBOARD = auto()
    """A page in a frame of the Saleor Dashboard."""
    WIDGET = auto()
    """The same, with forms that it sends to itself."""
    SHOPPER = auto()
    """A page that a shopper opens: framed by nobody, found by no search engine."""
    IMAGE = auto()
    """An image that storefronts show among their own."""
    FILE = auto()
    """A file that is the same for everybody: asked for again each time, so no page meets yesterday's style sheet."""
    VERSIONED_FILE = auto()
    """The same, under an address that names its very content: kept for good."""


def routes_of(kind: PageKind) -> type[APIRoute]:
    """Return the ``route_class`` of a router whose routes are all of this kind."""
    return type(f"{kind.name.title()}Route", (APIRoute,), {"page_kind": kind})


class SecureApp(FastAPI):
    """A FastAPI app that puts the headers of their kind on all answers.

    ``frame_ancestors`` are the origins of Dashboards (``frame_ancestors_directive``, which raises `ValueError` for what
    is no origin). ``options`` are FastAPI's.
    """

    def __init__(self, *, frame_ancestors: tuple[str, ...] = ANY_DASHBOARD, **options: Any) -> None:
        super().__init__(**options)
        self._headers = _headers(frame_ancestors)

    def build_middleware_stack(self) -> ASGIApp:
        """Return FastAPI's stack within ours. One that is added to it would not see the answers of its outer layers."""
        return _SecurityHeaders(super().build_middleware_stack(), self._headers)


class _SecurityHeaders:
    def __init__(self, app: ASGIApp, headers: Mapping[PageKind, Mapping[str, str]]) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers[_kind_of(scope)])
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _kind_of(scope: Scope) -> PageKind:
    """Return what was said while answering, by the route that was found, or by the app that is mounted there."""
    if isinstance(said := scope.get("page_kind"), PageKind):
        return said
    for found in (scope.get("route"), scope.get("endpoint")):
        kind = getattr(found, "page_kind", None)
        if isinstance(kind, PageKind):
            return kind
    return PageKind.MACHINES


def _headers(dashboards: tuple[str, ...]) -> dict[PageKind, dict[str, str]]:
    private = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
    nothing = "default-src 'none'"
    framed, unframed = frame_ancestors_directive(dashboards), frame_ancestors_directive(())
    page = f"{nothing}; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'"

    def policy(*directives: str) -> dict[str, str]:
        return private | {"Content-Security-Policy": "; ".join(directives)}

    return {
        PageKind.MACHINES: policy(nothing, unframed),
        PageKind.DASHBOARD: policy(page, "form-action 'none'", framed),
        PageKind.WIDGET: policy(page, "form-action 'self'", framed),
        # A shop's logo is wherever the shop has it.
        PageKind.SHOPPER: policy(
            page.replace("img-src 'self'", "img-src 'self' https:"), "form-action 'none'", unframed
        )
        | {"X-Robots-Tag": "noindex"},
        PageKind.IMAGE: policy(nothing) | {"Cross-Origin-Resource-Policy": "cross-origin"},
        PageKind.FILE: {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"},
        PageKind.VERSIONED_FILE: {
            "Cache-Control": "public, max-age=31536000, immutable",
            "X-Content-Type-Options": "nosniff",
        },
    }
