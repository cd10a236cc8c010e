"""Where a store's Dashboard is, and where in it an app's page is (Saleor contract, B.2.6)."""

import re
from urllib.parse import quote, urlsplit

_CLOUD = ".saleor.cloud"
_DASHBOARD = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?")
_LONGEST = 400
_USUAL_PORTS = {"https": 443, "http": 80}


def dashboard_beside(saleor_api_url: str) -> str | None:
    """Return the Dashboard's address where it follows from the API's: in Saleor Cloud. None elsewhere."""
    parts = urlsplit(saleor_api_url)
    if parts.scheme == "https" and parts.netloc.endswith(_CLOUD) and parts.path == "/graphql/":
        return f"https://{parts.netloc}/dashboard/"
    return None


def read_dashboard_address(text: str) -> str:
    """Return an address that somebody has given, with a slash at its end. Raises ValueError for what is none."""
    if len(text) > _LONGEST or not _DASHBOARD.fullmatch(text):
        msg = "the Dashboard's address must be like https://dashboard.example.com/"
        raise ValueError(msg)
    return text.rstrip("/") + "/"


def origin_of(address: str) -> str:
    """Return scheme, host and port of an address as browsers write an origin; "" for what is no address of the web."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in _USUAL_PORTS or not parts.hostname:
        return ""
    usual = port in {None, _USUAL_PORTS[parts.scheme]}
    return f"{parts.scheme}://{parts.hostname}" + ("" if usual else f":{port}")


def app_page_in(dashboard: str, app_id: str, path: str) -> str:
    """Return where the Dashboard shows the app's page at ``path``, which begins with a slash."""
    return f"{dashboard.rstrip('/')}/extensions/app/{quote(app_id, safe='')}{quote(path)}"
