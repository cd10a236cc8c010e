"""Whatever strangers write (names, references, the gateway's words) is text on the pages of staff, and never markup."""

import ast
import re

import pytest
from fastapi.routing import APIRoute

from tests.commands.books import event, notification, operation, store_payment
from tests.commands.conftest import one_database
from tests.dashboard.conftest import gateway, shop, staff_client
from tests.dashboard.dashboard_app import StaffClient, names
from tests.sources import source_files

__all__ = ["gateway", "shop", "staff_client"]

MARKUP = "\"'><img src=x onerror=alert(1)>{{7*7}}"
_SAFE = re.compile(r"\{[{%][^}]*\|\s*safe\b[^}]*\}")
_A_LITERAL = re.compile(r"('[^']*'|\"[^\"]*\")\s*\|\s*safe\b")


@one_database
@pytest.mark.threat("xss-dashboard")
async def test_on_every_page_of_staff_it_is_text(staff_client: StaffClient) -> None:
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_ORDERS", "MANAGE_APPS")
    written = {"order_number": MARKUP, "channel": MARKUP}
    kept = await store_payment(
        staff_client.services,
        staff_client.shop.account,
        **(names(1) | written),
        problem=MARKUP,
        operations=[operation(message=MARKUP, request={"description": MARKUP}, details={"card_mask": MARKUP})],
        events=[event(message=MARKUP)],
        notifications=[notification({"order_id": f"{1:032x}", "response_description": MARKUP})],
    )
    seen = 0
    for path in pages(staff_client, kept.order_id):
        answer = await staff_client.see(path, **{"Accept-Language": "en"})
        if answer.status_code == 200:
            seen += "&lt;img src=x onerror=alert(1)&gt;{{7*7}}" in answer.text
            assert "<img src=x" not in answer.text, path
    assert seen >= 2, "the pages show what was written, so the others mean something"


def pages(staff_client: StaffClient, order_id: str) -> list[str]:
    """Every part that a GET shows."""
    account = staff_client.shop.account
    found = {
        route.path.removeprefix("/parts").format_map(_Anything(order_id=order_id, account_id=account.id))
        for router in staff_client.parts
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    }
    assert len(found) >= 8
    return sorted(found)


class _Anything(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "1"


@pytest.mark.threat("xss-dashboard", "xss-shopper")
def test_no_template_takes_the_escaping_off_what_it_is_given() -> None:
    templates = list(source_files("templates/**/*.html"))
    assert len(templates) > 20
    for template in templates:
        for written in _SAFE.findall(template.read_text()):
            assert _A_LITERAL.search(written), f"{template.name}: {written}"


@pytest.mark.threat("xss-dashboard", "xss-shopper")
def test_no_code_calls_what_it_is_given_markup() -> None:
    """``Markup("...")`` of a text that stands in the code may be; of anything else it may not."""
    calls = 0
    for module in source_files():
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Markup"):
                calls += 1
                assert all(isinstance(given, ast.Constant) for given in node.args), f"{module}: {ast.unparse(node)}"
    assert calls > 2
