"""A fault that turns every shopper away shows in what operators look at: readiness, the doctor and its exit status."""

import httpx2
import pytest

from app.store.turned_away import RECENT
from saleor_app_sdk.testing.views import NewCheckout
from tests.doctor.conftest import DoctorEnvironment
from tests.journeys.stories import begin


@pytest.mark.law(17)
async def test_shoppers_that_are_all_turned_away_show_in_readiness_and_in_the_doctor(around: DoctorEnvironment) -> None:
    assert await around.faults() == {}
    for _ in range(RECENT):
        checkout = await around.saleor.create_checkout(NewCheckout(channel_slug="ukraine", channel_id="Q2hhbm5lbDo5"))
        _, session = await begin(around.stack, checkout_id=checkout.id)
        assert [error["code"] for error in session.data["errors"]] == ["CHANNEL_NOT_MAPPED"]

    async with httpx2.AsyncClient(base_url=around.stack.app.url, trust_env=False) as http:
        answer = await http.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert "ukraine" not in answer.text, "anybody can read it"

    [finding] = [finding for finding in await around.findings() if finding["level"] == "error"]
    assert (finding["check"], finding["saleor"]) == ("channels", around.saleor.api_url)
    assert "none gets through" in finding["what"]
    assert "ukraine" in finding["what"]
    assert finding["to_do"].startswith("Correct what the reason names.")
