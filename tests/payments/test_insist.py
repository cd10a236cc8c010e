"""A call that never left is made again; one that may have arrived is not."""

from datetime import timedelta

import pytest

from app.gateway.errors import GatewayError, NotSent, OutcomeUnknown
from app.payments.deadline import Deadline
from app.payments.insist import insist
from app.payments.schedule import Schedule

AT_ONCE = Schedule(pauses_before_resending=(timedelta(0), timedelta(0)))


class Line:
    """A telephone line on which each attempt goes wrong as told, and then one succeeds."""

    def __init__(self, *troubles: GatewayError) -> None:
        self.troubles = list(troubles)
        self.attempts = 0

    async def __call__(self, _seconds: float) -> str:
        self.attempts += 1
        if self.troubles:
            raise self.troubles.pop(0)
        return "answered"


async def test_a_call_that_never_left_is_made_again() -> None:
    line = Line(NotSent("no connection"), NotSent("no connection"))
    assert await insist(line, Deadline(5), AT_ONCE) == "answered"
    assert line.attempts == 3


async def test_in_the_end_it_is_given_up() -> None:
    line = Line(*[NotSent("no connection")] * 9)
    with pytest.raises(NotSent):
        await insist(line, Deadline(5), AT_ONCE)
    assert line.attempts == 3


async def test_what_has_become_needless_meanwhile_is_not_sent_any_more() -> None:
    line, answers = Line(*[NotSent("no connection")] * 9), iter([True, False])

    async def still() -> bool:
        return next(answers)

    with pytest.raises(NotSent):
        await insist(line, Deadline(5), AT_ONCE, still=still)
    assert line.attempts == 2


@pytest.mark.law(2)
async def test_what_may_have_arrived_is_never_repeated() -> None:
    line = Line(OutcomeUnknown("no answer"))
    with pytest.raises(OutcomeUnknown):
        await insist(line, Deadline(5), AT_ONCE)
    assert line.attempts == 1


@pytest.mark.law(11)
async def test_a_spent_budget_ends_it() -> None:
    line = Line(NotSent("no connection"))
    with pytest.raises(NotSent):
        await insist(line, Deadline(0), AT_ONCE)
    assert line.attempts == 1
