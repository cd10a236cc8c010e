"""Repeats a call that provably never left this machine: the one case in which repeating cannot move money twice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from app.gateway.errors import GatewayError, NotSent
from app.payments.deadline import Deadline
from app.payments.schedule import Schedule

T = TypeVar("T")


async def insist(
    call: Callable[[float], Awaitable[T]],
    deadline: Deadline,
    schedule: Schedule,
    *,
    still: Callable[[], Awaitable[bool]] | None = None,
) -> T:
    """Return what ``call`` returns; it is given the seconds that are left of the budget.

    After ``NotSent`` it is made again, a few times and as long as the budget allows; the last ``NotSent`` is raised.
    Any other error is raised at once: what may have arrived is never repeated (laws of money, 2).

    ``still``: whether it is to be made at all, asked before it is made again: what has become known meanwhile can make
    it needless.
    """
    for pause in schedule.pauses_before_resending:
        try:
            return await call(deadline.left)
        except NotSent as error:
            if deadline.left <= pause.total_seconds():
                raise
            unsent = error
        await asyncio.sleep(pause.total_seconds())
        if still is not None and not await still():
            raise unsent
    return await call(deadline.left)


async def outcome_of(
    call: Callable[[float], Awaitable[T]],
    deadline: Deadline,
    schedule: Schedule,
    *,
    still: Callable[[], Awaitable[bool]] | None = None,
) -> T | GatewayError:
    """Return what came of a call that moves money: the gateway's word, or its error. See ``insist``."""
    try:
        return await insist(call, deadline, schedule, still=still)
    except GatewayError as error:
        return error
