"""Requests that no browser and no gateway makes, over HTTP: a plain refusal, never an error of ours."""

import pytest

from tests.dashboard.order_page_stack import OrderPageStack


@pytest.mark.parametrize(
    "path",
    [
        "/api/webhooks/gateway/%00",
        "/api/webhooks/gateway/a%00b",
        "/api/webhooks/gateway/%ff%fe",
        f"/api/webhooks/gateway/{'a' * 500}",
    ],
)
async def test_a_notification_for_what_is_no_account(stack: OrderPageStack, path: str) -> None:
    answer = await stack.http.post(path, content=b"data=eyJ9&signature=eyJ9")
    assert (answer.status_code, answer.content) == (404, b"")


@pytest.mark.threat("hostile-text")
@pytest.mark.parametrize("path", ["/pay/%00", "/pay/return/%00", "/pay/return/a%00b", f"/pay/{'a' * 500}"])
async def test_a_page_of_what_is_no_payment(stack: OrderPageStack, path: str) -> None:
    assert (await stack.http.get(path)).status_code == 404
