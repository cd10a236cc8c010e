"""The paths of requests as proxies pass them on: with the path of our address before them, or with a slash too many.

An app that shares a host with other sites is below a path. Some proxies take it off; ingresses and load balancers of
clouds often cannot. Nobody has to say which it is: it follows from the routes.
"""

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

_SLASHES = re.compile("/{2,}")


class ProxiedPaths:
    """Sets the path of each request to the one that a route has.

    ``addresses`` are those under which the app is reached. ``routes`` are the app's, also those that are added later.
    """

    def __init__(self, app: ASGIApp, *, addresses: Sequence[str | None], routes: Sequence[BaseRoute]) -> None:
        self._app = app
        paths = {unquote(urlsplit(address).path).rstrip("/") for address in addresses if address}
        self._bases = sorted(path for path in paths if path)
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            # Not in a copy: the layers around this one read there which route it was.
            scope["path"] = self._own_path(_SLASHES.sub("/", scope["path"]), scope["method"])
        await self._app(scope, receive, send)

    def _own_path(self, path: str, method: str) -> str:
        """Return the path without one of ours before it, if a route has that rather than the whole.

        A path of ours may be called like a page: below ``/pay``, ``/pay/healthz`` is no payment. The route that spells
        out more of the path is meant, and the one of the whole path if both do so equally.
        """
        candidates = [path] + [path.removeprefix(base) for base in self._bases if path.startswith(f"{base}/")]
        if len(candidates) == 1:
            return path
        found = [(unknown, own) for own in candidates if (unknown := self._parameters(own, method)) is not None]
        return min(found, key=lambda candidate: candidate[0])[1] if found else path

    def _parameters(self, path: str, method: str) -> int | None:
        """Return how many parameters the route of a path has; None when there is no such route."""
        scope: Scope = {"type": "http", "path": path, "method": method, "root_path": "", "headers": []}
        for route in self._routes:
            match, found = route.matches(scope)
            if match is not Match.NONE:
                return len(found.get("path_params", {}))
        return None
