"""How often strangers may make us do something."""

import pytest

from integration_base_tests.clock import Clock
from saleor_app_sdk.request_limits import AttemptLimiter


def test_so_often_in_a_minute_and_again_in_the_next(clock: Clock) -> None:
    attempts = AttemptLimiter(per_name=2, in_total=3, now=clock)
    assert [attempts.try_acquire(name) for name in ("a", "a", "a", "b", "c")] == [True, True, False, True, False]
    clock.forward(minutes=1)
    assert attempts.try_acquire("a")


@pytest.mark.fault("clock-back")
def test_a_clock_that_is_put_back_does_not_shut_everybody_out(clock: Clock) -> None:
    """Neither who installs the app nor shoppers wait until the wrong hour comes again."""
    attempts = AttemptLimiter(per_name=1, in_total=2, now=clock)
    assert attempts.try_acquire("a")
    clock.forward(hours=-1)
    assert attempts.try_acquire("a")
    assert not attempts.try_acquire("a")
