"""One id for all that follows from a request: how it is read, and what keeps it."""

import pytest
from sqlalchemy import event

from app.core.ids import PspReference
from app.rules.decision_context import enqueue_note
from app.store.aggregates import ByOrder
from integration_base import telemetry
from integration_base.telemetry import Trace, read_traceparent, tracing
from integration_base_tests.step_recorder import record_steps
from tests.payments.changes import Change
from tests.payments.shop import Shop, run_concurrently

ID, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("header", "trace"),
    [
        (f"00-{ID}-{SPAN}-01", Trace(ID, SPAN, sampled=True)),
        (f" 00-{ID}-{SPAN}-00 ", Trace(ID, SPAN, sampled=False)),
        (f"cc-{ID}-{SPAN}-01-what-the-future-adds", Trace(ID, SPAN, sampled=True)),
        (f"00-{ID}-{SPAN}-01-more", None),
        (f"ff-{ID}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{ID}-{'0' * 16}-01", None),
        (f"00-{ID.upper()}-{SPAN}-01", None),
        (f"00-{ID}-{SPAN}", None),
        ("nonsense\n", None),
        ("", None),
        (None, None),
    ],
)
def test_a_traceparent_is_read_as_w3c_says(header: str | None, trace: Trace | None) -> None:
    assert read_traceparent(header) == trace


async def test_what_is_committed_together_is_done_in_the_trace_of_each(paid_shop: Shop) -> None:
    """One writer writes for all who come in the same moment, in its own task."""
    transactions = 0

    async def note(number: int) -> None:
        with tracing(f"{number:032x}"):
            context = paid_shop.services.decision_context()
            await paid_shop.services.payments.record(
                ByOrder(paid_shop.order_id),
                Change(
                    lambda payment: enqueue_note(
                        payment, f"note {number}", context, reference=PspReference(f"note-{number}")
                    )
                ),
            )

    def count(_connection: object) -> None:
        nonlocal transactions
        transactions += 1

    engine = paid_shop.services.database.engine.sync_engine
    event.listen(engine, "commit", count)
    try:
        await run_concurrently(*(note(number) for number in range(1, 21)))
    finally:
        event.remove(engine, "commit", count)
    assert transactions < 20, "some have shared one"
    traces = {saved.message: saved.trace_id for saved in (await paid_shop.aggregate()).events}
    assert all(traces[f"note {number}"] == f"{number:032x}" for number in range(1, 21))


async def test_rows_keep_the_trace_in_which_they_are_made(shop: Shop) -> None:
    with tracing(ID):
        await shop.complete_payment()
    aggregate = await shop.aggregate()
    assert aggregate.create.trace_id == ID
    assert {event.trace_id for event in aggregate.events} == {ID}


def test_a_step_that_an_exception_leaves_has_failed() -> None:
    def break_off() -> None:
        with telemetry.step(telemetry.Kind.JOB, "events"):
            raise ZeroDivisionError

    with record_steps() as noted, pytest.raises(ZeroDivisionError):
        break_off()
    assert [(recorded_step.step.name, recorded_step.step.outcome) for recorded_step in noted] == [("events", "failed")]
