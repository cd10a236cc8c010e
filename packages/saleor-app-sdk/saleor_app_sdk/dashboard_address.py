"""The addresses of a store's Dashboard and of an app's page in it (Saleor contract, B.2.6)."""

import re
from urllib.parse import quote, urlsplit

_CLOUD = ".saleor.cloud"
_DASHBOARD = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?")
_MAX_LENGTH = 400
_DEFAULT_PORTS = {"https": 443, "http": 80}


def cloud_dashboard_address(saleor_api_url: str) -> str | None:
    """Return the Dashboard's address in Saleor Cloud, where it follows from the API's; None elsewhere."""
    parts = urlsplit(saleor_api_url)
    if parts.scheme == "https" and parts.netloc.endswith(_CLOUD) and parts.path == "/graphql/":
        return f"https://{parts.netloc}/dashboard/"
    return None


def parse_dashboard_address(text: str) -> str:
    """Return a Dashboard's address as entered, with a slash at its end. Raises ValueError for an invalid one."""
    if len(text) > _MAX_LENGTH or not _DASHBOARD.fullmatch(text):
        msg = "the Dashboard's address must be like https://dashboard.example.com/"
        raise ValueError(msg)
    return text.rstrip("/") + "/"


def origin_of(address: str) -> str:
    """Return scheme, host and port of an address as browsers write an origin; "" if it is no http(s) address."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        return ""
    is_default = port in {None, _DEFAULT_PORTS[parts.scheme]}
    return f"{parts.scheme}://{parts.hostname}" + ("" if is_default else f":{port}")


def app_page_address(dashboard: str, app_id: str, path: str) -> str:
    """Return the address at which the Dashboard shows the app's page at ``path``, which begins with a slash."""
    return f"{dashboard.rstrip('/')}/extensions/app/{quote(app_id, safe='')}{quote(path)}"
