"""How old a webhook may be, to the second."""

import pytest

from tests.saleor.doorway import Door
from tests.saleor.household import Clock, Row, refund_body


@pytest.mark.parametrize("seconds", [0, 3600, -300])
async def test_up_to_an_hour_old_and_five_minutes_ahead_is_in_order(
    door: Door, installed: Row, clock: Clock, seconds: int
) -> None:
    clock.forward(seconds=seconds)
    answer = await door.knock(refund_body())
    assert answer.json()["result"] == "REFUND_SUCCESS"
