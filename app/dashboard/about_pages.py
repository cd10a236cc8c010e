"""`/about`, `/support` and `/privacy`: what the manifest calls the app's homepage, its support and its privacy notice.

Saleor's Dashboard opens them in a tab of their own. They are the same for everybody and show nothing of any store.
"""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.renderer import TEMPLATES
from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.security_headers import PageKind, routes_of

_TITLES = {
    "support": gettext_noop("Support"),
    "privacy": gettext_noop("Privacy"),
}


def create_about_router(
    *,
    app_name: str,
    app_version: str,
    base: str = "",
    support_url: str | None = None,
    privacy_url: str | None = None,
    kept_days: int = 0,
) -> APIRouter:
    """The pages. ``base`` is the path below which browsers reach the app, without a slash at its end.

    ``support_url`` and ``privacy_url`` are where the homepage leads: addresses, or paths of the app. None: its own.
    ``kept_days``: how long is kept what payments say of shoppers; 0: for ever.
    """
    router = APIRouter(include_in_schema=False, route_class=routes_of(PageKind.DASHBOARD))
    links = {
        name: said if said and not said.startswith("/") else f"{base}{said or own}"
        for name, said, own in (("support", support_url, "/support"), ("privacy", privacy_url, "/privacy"))
    }

    def shown(request: Request, name: str) -> HTMLResponse:
        wishes = request.query_params.get("lang") or request.headers.get("accept-language", "")
        language = translation_for(wishes)
        html = TEMPLATES.render(
            f"{name}.html",
            language,
            base=base,
            here=f"{base}/{name}",
            title=language.gettext(_TITLES[name]) if name in _TITLES else app_name,
            app_name=app_name,
            app_version=app_version,
            links=links,
            kept_days=kept_days,
        )
        return HTMLResponse(html, headers={"Content-Language": language.language})

    @router.get("/about")
    async def about(request: Request) -> HTMLResponse:
        return shown(request, "about")

    @router.get("/support")
    async def support(request: Request) -> HTMLResponse:
        return shown(request, "support")

    @router.get("/privacy")
    async def privacy(request: Request) -> HTMLResponse:
        return shown(request, "privacy")

    return router
