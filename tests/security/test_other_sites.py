"""What a page of another site can have a browser do at the app: nothing that staff can do."""

import httpx2
import pytest
from fastapi.routing import APIRoute

from tests.commands.conftest import one_database
from tests.dashboard.conftest import gateway, shop, staff_client
from tests.dashboard.dashboard_app import StaffClient

__all__ = ["gateway", "shop", "staff_client"]

pytestmark = [one_database, pytest.mark.threat("csrf")]
ELSEWHERE = "https://elsewhere.example.com"


def addresses(staff_client: StaffClient) -> list[tuple[str, str]]:
    """Every part and widget as method and address."""
    return [
        (method, route.path)
        for router in (*staff_client.parts, staff_client.widget)
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]


async def test_a_browser_is_told_that_other_sites_may_neither_ask_nor_read(staff_client: StaffClient) -> None:
    """The token is in a header of ours, which a browser sends for another site only if the app allows it first."""
    for method, path in addresses(staff_client):
        asked_first = await staff_client.http.options(
            path,
            headers={
                "Origin": ELSEWHERE,
                "Access-Control-Request-Method": method,
                "Access-Control-Request-Headers": "authorization,saleor-api-url",
            },
        )
        assert allowed(asked_first) == [], path
        answer = await staff_client.http.request(method, path, headers={"Origin": ELSEWHERE})
        assert allowed(answer) == [], path


async def test_a_form_of_another_site_does_nothing_whatever_the_browser_has(staff_client: StaffClient) -> None:
    """A form cannot set a header, and what a browser adds by itself (cookies, Basic) is no token."""
    before = await staff_client.payment(1)
    browser = {
        "Origin": ELSEWHERE,
        "Cookie": f"token={staff_client.token()}; saleor-api-url=x",
        "Authorization": "Basic c3RhZmY6c2VjcmV0",
    }
    posts = [
        path.replace("{order_id}", before.order_id) for method, path in addresses(staff_client) if method == "POST"
    ]
    assert len(posts) >= 10
    for path in posts:
        answer = await staff_client.http.post(path, headers=browser, data={"amount": "1.00", "kind": "refund"})
        assert answer.status_code == 401, path
        assert "set-cookie" not in answer.headers
    assert staff_client.shop.gateway.requests == []


class Named(dict[str, str]):
    """What stands in an address; what has no name here is anything."""

    def __missing__(self, name: str) -> str:
        return "1"


def allowed(answer: httpx2.Response) -> list[str]:
    """The headers by which a server lets other sites in."""
    return [name for name in answer.headers if name.startswith("access-control-")]
