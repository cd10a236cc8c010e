"""A call that never left is made again; one that may have arrived is not."""

from datetime import timedelta

import pytest

from app.flows.execute import retry_unsent
from app.rules.schedule import Schedule
from gateway_client.errors import GatewayError, NotSentError, OutcomeUnknownError
from integration_base.outbound import Deadline

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


async def needed() -> bool:
    return True


@pytest.mark.fault("gateway-down")
async def test_a_call_that_never_left_is_made_again() -> None:
    line = Line(NotSentError("no connection"), NotSentError("no connection"))
    assert await retry_unsent(line, Deadline(5), AT_ONCE, needed) == "answered"
    assert line.attempts == 3


@pytest.mark.fault("gateway-down")
async def test_in_the_end_it_is_given_up() -> None:
    line = Line(*[NotSentError("no connection")] * 9)
    assert isinstance(await retry_unsent(line, Deadline(5), AT_ONCE, needed), NotSentError)
    assert line.attempts == 3


async def test_what_has_become_needless_meanwhile_is_not_sent_any_more() -> None:
    line, answers = Line(*[NotSentError("no connection")] * 9), iter([True, False])

    async def still() -> bool:
        return next(answers)

    assert isinstance(await retry_unsent(line, Deadline(5), AT_ONCE, still), NotSentError)
    assert line.attempts == 2


@pytest.mark.fault("gateway-unknown")
@pytest.mark.law(2)
@pytest.mark.law(2)
async def test_what_may_have_arrived_is_never_repeated() -> None:
    line = Line(OutcomeUnknownError("no answer"))
    assert isinstance(await retry_unsent(line, Deadline(5), AT_ONCE, needed), OutcomeUnknownError)
    assert line.attempts == 1


@pytest.mark.law(11)
@pytest.mark.law(11)
async def test_a_spent_budget_ends_it() -> None:
    line = Line(NotSentError("no connection"))
    assert isinstance(await retry_unsent(line, Deadline(0), AT_ONCE, needed), NotSentError)
    assert line.attempts == 1
