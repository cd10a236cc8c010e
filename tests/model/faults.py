"""Faults that were once found by hand, each put back by a change of one function."""

from tests.laws.breaks import Break
from tests.laws.changes import Condition, Name, Returns, WithoutCall

FAULTS = [
    Break(
        law=7,
        what="a success after a failure is not booked",
        changes={
            "app.rules.mapper:compute_transition": Condition(
                {"rank", "inferred"}, becomes="seen.state.rank <= known.state.rank and not known.inferred"
            )
        },
    ),
    Break(
        law=7,
        what="the turn of a decided dispute is not told",
        changes={
            "app.rules.disputes:report_dispute": Condition(
                {"taken", "final"}, becomes="operation.state.final and not turns and taken"
            )
        },
    ),
    Break(
        law=5,
        what="a success is answered while an earlier failure is untold",
        changes={"app.rules.event_queue:should_delay_success": Returns("False")},
    ),
    Break(
        law=5,
        what="a granted refund whose answer Saleor has not read is not requested again",
        changes={"app.rules.decisions.answer_confirmation:_needs_repeat_request": Returns("False")},
    ),
    Break(
        law=4,
        what="a granted refund that is requested again is paid out again",
        changes={"app.rules.decisions.answer_window:find_granted_refund": Returns("None")},
    ),
    Break(
        law=9,
        what="Saleor's own reference of a request whose answer it has not read is not taken",
        changes={"app.rules.decisions.answer_confirmation:HistoryRead.decide": WithoutCall("change_reference")},
    ),
    Break(
        law=10,
        what="what somebody else did is booked under an operation of ours that waits for its turn",
        changes={"app.rules.observation:find_matching_operation": Name("State.UNKNOWN", becomes="State.WAITING")},
    ),
    Break(
        law=2,
        what="an operation that a record has named is undone by silence",
        changes={
            "app.rules.decisions.look_up:_conclude_from_silence": Condition({"operation.operation_id"}, becomes="False")
        },
    ),
    Break(
        law=12,
        what="two attempts that begin at one moment do not see each other",
        changes={"app.rules.decisions.gateway_call:_withhold_if_covered": WithoutCall("close_competing_pages")},
    ),
    Break(
        law=13,
        what="a page whose time to pay is over is not closed",
        changes={"app.rules.decisions.look_up:_close_expired_page": Returns("None")},
    ),
]
