"""The app's pages inside the Dashboard: each is an empty frame.

They are the same for every user and show no store's data, so they need no authentication. The content of a page comes
from `parts`.
"""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.i18n.translation import translation_for
from app.web.dashboard.deep_link import DeepLink
from app.web.dashboard.renderer import TEMPLATES, THEMES
from app.web.security_headers import PageKind, route_class_for

_PATHS = (
    "/",
    "/payments",
    "/payments/{order_id}",
    "/money",
    "/attention",
    "/balances",
    "/payouts",
    "/payouts/new",
    "/register",
    "/set-up",
    "/set-up/channels",
    "/set-up/dashboard",
    "/set-up/health",
    "/set-up/try",
    "/set-up/try/{order_id}",
    "/set-up/accounts/{account_id}",
)
READING = ("GET", "HEAD")
"""The methods of a page: link previews and monitoring services ask for its head first, or only for that."""

FindDeepLink = Callable[[str, str], Awaitable[DeepLink | None]]
"""Maps a Saleor's GraphQL address and a page's path to the same page in that store's Dashboard; None: not known."""


def create_dashboard_router(
    *,
    app_name: str,
    app_version: str,
    base: str = "",
    find_deep_link: FindDeepLink | None = None,
) -> APIRouter:
    """Return the router of the pages, which contain no store's data.

    `base` is the path below which browsers reach the app, without a trailing slash. A user who opens a page outside the
    Dashboard is sent into it if `find_deep_link` knows its address: by a redirect, or by a link that shows its target.
    """
    router = APIRouter(include_in_schema=False, route_class=route_class_for(PageKind.DASHBOARD))
    about = {"app_name": app_name, "app_version": app_version}

    async def page(request: Request, theme: str | None = None) -> Response:
        language = translation_for(request.headers.get("accept-language", ""))
        # The page was opened in a tab of its own, not in the Dashboard's frame.
        if find_deep_link is not None and request.headers.get("sec-fetch-dest") == "document":
            saleor = request.query_params.get("saleorApiUrl", "")
            link = await find_deep_link(saleor, request.scope["path"])
            if link is not None and link.may_redirect_from(request.headers.get("referer", "")):
                return RedirectResponse(link.address, 303)
            if link is not None:
                where = {"there": link.address, "dashboard": link.dashboard, "store": urlsplit(saleor).netloc}
                return HTMLResponse(TEMPLATES.render("way_in.html", language, base=base, **where, **about))
        html = TEMPLATES.render("shell.html", language, base=base, theme=theme if theme in THEMES else None, **about)
        return HTMLResponse(html)

    for path in _PATHS:
        router.add_api_route(path, page, methods=[*READING])
    return router
