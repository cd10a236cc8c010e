"""How often strangers may make us do something."""

import pytest

from app.saleor.attempts import Attempts
from tests.conftest import Clock


def test_so_often_in_a_minute_and_again_in_the_next(clock: Clock) -> None:
    attempts = Attempts(of_one=2, of_all=3, now=clock)
    assert [attempts.allowed(name) for name in ("a", "a", "a", "b", "c")] == [True, True, False, True, False]
    clock.forward(minutes=1)
    assert attempts.allowed("a")


@pytest.mark.fault("clock-back")
def test_a_clock_that_is_put_back_does_not_shut_everybody_out(clock: Clock) -> None:
    """Neither who installs the app nor shoppers wait until the wrong hour comes again."""
    attempts = Attempts(of_one=1, of_all=2, now=clock)
    assert attempts.allowed("a")
    clock.forward(hours=-1)
    assert attempts.allowed("a")
    assert not attempts.allowed("a")
