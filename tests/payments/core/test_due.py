"""One module says when the worker next attends to an operation."""

import ast
from datetime import datetime, timedelta

import pytest

from app.core.vocabulary import Flow, State
from app.rules.schedule import plan_another_look_up
from tests.payments.aggregates import NOON, an_aggregate, decision_context
from tests.sources import name_of, source_files

SCHEDULE = decision_context().schedule
LINK_DUE = SCHEDULE.intent_deadline(NOON)


def test_one_module_says_when_an_operation_is_due() -> None:
    """Laws of money, 13: a moment that is set, or forgotten, somewhere else is a payment that waits for ever."""
    writers = {
        name_of(path)
        for path in source_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "next_poll_at" and isinstance(node.ctx, ast.Store)
    }
    assert writers == {"app/rules/schedule.py"}


@pytest.mark.law(13)
@pytest.mark.parametrize(
    ("link", "now", "is_link_awaited"),
    [
        (None, LINK_DUE - timedelta(microseconds=1), True),
        (None, LINK_DUE, False),
        ("checkout_url", LINK_DUE - timedelta(microseconds=1), False),
        ("qr_url", LINK_DUE - timedelta(microseconds=1), False),
    ],
    ids=["may arrive", "too late", "there", "there as a QR code"],
)
def test_page_whose_link_may_still_arrive_is_looked_up_when_it_must_have(
    link: str | None, now: datetime, *, is_link_awaited: bool
) -> None:
    """The gateway's notification that the page is open can overtake the answer with its link."""
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    if link is not None:
        setattr(aggregate.payment, link, "https://gateway.example/pay")
    plan_another_look_up(aggregate.payment, aggregate.create, SCHEDULE, now)
    due = aggregate.create.next_poll_at
    assert due is not None
    assert due > now
    assert (due == LINK_DUE) is is_link_awaited
