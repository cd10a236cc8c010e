"""The app is killed at every point between a wish and its delivery, for all that can be wished, and started again.

The people go on as people do (they try again where nothing happened), and then: the gateway, the app and Saleor tell
the same story, nothing was done twice, nothing waits, and Saleor heard of each outcome once.
"""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from gateway_client.dialect import DialectName
from integration_base_tests.waiting import eventually
from tests.fork_server import ForkServer
from tests.journeys.audit import assert_three_books_agree
from tests.journeys.crash_points import CrashPoint
from tests.journeys.crashing_process import CrashingProcess
from tests.journeys.stack import Stack, open_stack
from tests.journeys.user_requests import USER_REQUESTS

# What the app does by itself, it does in a hurry; a claim still lasts longer than the job that it is for. A webhook has
# its usual time: no story waits for the end of it, and on a busy machine a shopper would be told to try again.
HASTE = {
    "APP_ANSWER_WINDOW_SECONDS": "0.2",
    "APP_UNKNOWN_FIRST_LOOK_UP_SECONDS": "0.2",
    "APP_PENDING_FIRST_LOOK_UP_SECONDS": "0.3",
    "APP_UNKNOWN_TIMEOUT_SECONDS": "1.5",
    "APP_WORKER_LEASE_SECONDS": "1.5",
}

ASKING = [
    CrashPoint.INTENT_NOT_COMMITTED,
    CrashPoint.CALL_NOT_BEGUN,
    CrashPoint.ANSWER_NOT_READ,
    CrashPoint.OUTCOME_NOT_COMMITTED,
]
ANSWERING = [CrashPoint.SALEOR_NOT_ANSWERED, CrashPoint.ANSWER_CUT_OFF, CrashPoint.SALEOR_ANSWERED]
HEARING = [
    CrashPoint.NOTIFICATION_NOT_KEPT,
    CrashPoint.NOTIFICATION_NOT_ANSWERED,
    CrashPoint.NOTIFICATION_CLAIMED,
    CrashPoint.NOTIFICATION_NOT_POSTED,
    CrashPoint.NOTIFICATION_POSTED,
]
TELLING = [CrashPoint.EVENT_CLAIMED, CrashPoint.DELIVERY_NOT_NOTED]
FINDING_OUT = [CrashPoint.LOOK_UP_NOT_POSTED]

# What waits, and what the app does by itself, has no webhook of its own that could be answered, and is told like the
# rest. Everything else meets every point.
BY_ITSELF = {"refund_that_waits", "closing_of_a_lost_page"}
CASES = [
    (staff_request, point)
    for staff_request in USER_REQUESTS
    for point in (ASKING if staff_request in BY_ITSELF else ASKING + ANSWERING + HEARING + TELLING + FINDING_OUT)
]


def _one_of_each_point() -> list[tuple[str, CrashPoint]]:
    """Return a case for each point, of one wish after the other."""
    of_points = [[case for case in CASES if case[1] is point] for point in CrashPoint]
    return [cases[-1 - number % len(cases)] for number, cases in enumerate(of_points)]


EXAMPLES = _one_of_each_point()  # those that every run plays


@pytest.mark.fault("process-killed")
@pytest.mark.parametrize("cases", [CASES, EXAMPLES], ids=["all", "examples"])
def test_every_wish_and_every_point_is_met(cases: list[tuple[str, CrashPoint]]) -> None:
    assert {point for _, point in cases} == set(CrashPoint)
    assert {staff_request for staff_request, _ in cases} == set(USER_REQUESTS)


@pytest.fixture
async def mortal_shop(
    database_url: str, tmp_path: Path, neighbours: tuple[str, str], dialect: DialectName, fork_server: ForkServer
) -> AsyncIterator[Stack]:
    """A shop that is ready to sell; its app can be made to die at a point."""
    process = partial(CrashingProcess, fork_server=fork_server)
    async with open_stack(
        database_url, tmp_path, neighbours, dialect=dialect, patience=HASTE, process=process
    ) as stack:
        installed = await stack.saleor.install(f"{stack.app.url}/api/manifest")
        assert installed.status == "INSTALLED", installed.message
        await stack.open_account()
        yield stack


@pytest.mark.fault("process-killed")
@pytest.mark.parametrize(
    ("staff_request", "point"),
    [
        pytest.param(*case, id=f"{case[0]}-{case[1].name.lower()}", marks=() if case in EXAMPLES else pytest.mark.long)
        for case in CASES
    ],
)
async def test_killed(mortal_shop: Stack, staff_request: str, point: CrashPoint) -> None:
    app = mortal_shop.app
    assert isinstance(app, CrashingProcess)
    wished = USER_REQUESTS[staff_request](mortal_shop)
    await wished.prepare()

    lead = {
        **dict.fromkeys(HEARING, wished.submit_and_notify),
        **dict.fromkeys(FINDING_OUT, wished.submit_and_lose_answer),
    }
    await lead.get(point, wished.ask)(lambda: app.fate.arm(point))

    async def dead() -> bool:
        return app.has_ended

    await eventually(dead)
    assert app.fate.has_died, "it died of something else"
    await app.start()
    await mortal_shop.gateway.clear_rules()
    await mortal_shop.gateway.release_webhooks()

    await eventually(wished.check_or_retry)
    await assert_three_books_agree(mortal_shop)
