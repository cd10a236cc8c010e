"""Which pages there are: found in the app's routes, so that a new one is looked at without being named here."""

import re
from collections.abc import Iterator, Mapping, Sequence

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

# For programs, or pieces of pages.
NO_PAGES = ("/api/", "/parts", "/static", "/healthz", "/readyz", "/.well-known/")
NO_HTML = (".png", ".svg", ".csv", ".css")
_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")


def page_routes(application: FastAPI) -> Iterator[str]:
    """Give the paths of all routes that answer GET with a page."""
    for route in iter_route_contexts(application.routes):
        path = route.path or ""
        leads_on = path != "/" and path.endswith("/")  # to the page without the slash
        is_page = not path.startswith(NO_PAGES) and not path.endswith(NO_HTML) and not leads_on
        if "GET" in (route.methods or ()) and is_page:
            yield path


def addresses_of(route: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the addresses of a route, with everything that is known for its parameter, or for this very route.

    Raises LookupError for a parameter that nothing is known for: then ``app_under_test.py`` has to learn it.
    """
    filled = [route]
    for name in _PARAMETER.findall(route):
        values = known.get(route) or known.get(name)
        if not values:
            raise LookupError(f"tests/pages/stack.py knows nothing that {name} could be in {route}")
        filled = [_PARAMETER.sub(value, address, count=1) for address in filled for value in values]
    return filled
