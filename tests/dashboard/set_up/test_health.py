"""The health check where the app's own address does not lead to it; the whole of it: ``tests/doctor/test_page.py``."""

from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient


@one_database
async def test_webhooks_are_never_led_to_where_the_app_is_not(staff_client: StaffClient) -> None:
    """The operator has mistyped the app's address: a button must not take away the webhooks that work."""
    answer = await staff_client.do("/set-up/health/webhooks")
    assert (answer.status_code, answer.json()["detail"]["code"]) == (409, "WRONG_ADDRESS")
    assert "Nothing was changed" in answer.json()["detail"]["message"]
    assert staff_client.saleor.asked == [], "Saleor was not even asked"
    page = await staff_client.see("/set-up/health")
    assert page.status_code == 200
    assert "is not the app (HTTP " in page.text


@one_database
async def test_the_way_to_it(staff_client: StaffClient) -> None:
    assert 'href="/set-up/health"' in (await staff_client.see("/set-up")).text
