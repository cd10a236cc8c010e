"""`/about`, `/support` and `/privacy`: the app's homepage, support page and privacy notice that the manifest names.

Saleor's Dashboard opens them in a tab of their own. They are the same for every user and show no store's data.
"""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.web.dashboard.renderer import TEMPLATES
from app.web.dashboard.router import READING
from app.web.security_headers import PageKind, route_class_for

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
    """Return the router. ``base`` is the path below which browsers reach the app, without a trailing slash.

    ``support_url`` and ``privacy_url`` are the homepage's links: addresses, or paths of the app. None: its own pages.
    ``kept_days``: for how many days payments retain data of shoppers; 0: for ever.
    """
    router = APIRouter(include_in_schema=False, route_class=route_class_for(PageKind.DASHBOARD))
    links = {
        name: configured if configured and not configured.startswith("/") else f"{base}{configured or default}"
        for name, configured, default in (("support", support_url, "/support"), ("privacy", privacy_url, "/privacy"))
    }

    def render(request: Request, name: str) -> HTMLResponse:
        languages = request.query_params.get("lang") or request.headers.get("accept-language", "")
        language = translation_for(languages)
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

    @router.api_route("/about", methods=[*READING])
    async def about(request: Request) -> HTMLResponse:
        return render(request, "about")

    @router.api_route("/support", methods=[*READING])
    async def support(request: Request) -> HTMLResponse:
        return render(request, "support")

    @router.api_route("/privacy", methods=[*READING])
    async def privacy(request: Request) -> HTMLResponse:
        return render(request, "privacy")

    return router
