"""The ways to break each law of money: what keeps it is taken out of a copy of the program."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.laws.changes import (
    Assigned,
    BeginsWith,
    Call,
    Condition,
    FunctionChange,
    Name,
    Returns,
    WithoutCall,
    changed_sources,
)


@dataclass(frozen=True)
class Break:
    """What is done to a law, and by which change of which function. Several functions: all of them are changed."""

    law: int
    what: str
    changes: Mapping[str, FunctionChange]

    def sources(self, root: Path) -> dict[Path, str]:
        """Return the modules of the program at ``root`` as they are when the law is broken. Raises LookupError."""
        return changed_sources(root, self.changes)

    def make(self, root: Path) -> None:
        """Break the law in the program at ``root``. Raises LookupError."""
        for path, source in self.sources(root).items():
            path.write_text(source)


BREAKS = [
    Break(
        law=1,
        what="the gateway is called before the intent is committed",
        changes={
            "app.flows.actions:perform_action": BeginsWith(
                "from tests.laws.early_call import call_gateway_first\n"
                "await call_gateway_first(services, request, which)"
            )
        },
    ),
    Break(
        law=1,
        what="an intent that nobody has concluded is not looked up",
        changes={
            "app.rules.schedule:Schedule.intent_deadline": Returns("now + self.settling_time * 1000"),
        },
    ),
    Break(
        law=2,
        what="an outcome that is not known is a failure",
        changes={
            "app.rules.call_errors:is_outcome_unknown": Condition({"nothing_was_done"}, becomes="False"),
        },
    ),
    Break(
        law=2,
        what="a clock that is put ahead makes a long silence of a short one",
        changes={"app.rules.schedule:Schedule.has_enough_look_ups": Returns("True")},
    ),
    Break(
        law=2,
        what="whatever says no is taken for the gateway",
        changes={"gateway_client.responses:decode": Name("_not_the_gateway", becomes="_refusal")},
    ),
    Break(
        law=2,
        what="a page of which nobody has the link is not closed",
        changes={"app.rules.decisions.gateway_call:abandon_page": WithoutCall("have_page_closed")},
    ),
    Break(
        law=2,
        what="a look-up that does not show the payment is believed",
        changes={"app.rules.decisions.look_up:_is_silent": Call("any", becomes="True")},
    ),
    Break(
        law=3,
        what="a second operation does not wait for the first",
        changes={"app.rules.decisions.action:_new_operation": Condition({"waits"}, becomes="False")},
    ),
    Break(
        law=3,
        what="what nobody has locked decides",
        changes={"app.store.payment_locks:_lock_statement": WithoutCall("with_for_update")},
    ),
    Break(
        law=4,
        what="what staff asked before is asked again",
        changes={
            "app.rules.decisions.action:_find_recorded": Returns(
                "None, next((key for key in request.keys if aggregate.operation_by_key(key) is None),"
                " f'{request.keys[0]}-{len(aggregate.operations)}')"
            )
        },
    ),
    Break(
        law=5,
        what="state is committed without the event that tells of it",
        changes={"app.store.payment_rows:write": Name("stored.events", becomes="()")},
    ),
    Break(
        law=6,
        what="a notification whose processing failed is given up",
        changes={
            "app.flows.notifications:process": Call(
                "services.inbox.postpone",
                becomes=(
                    "services.inbox.postpone(notification_id, outcome=outcome, until=None, trouble=AlertKind.FAILED)"
                ),
            )
        },
    ),
    Break(
        law=7,
        what="a late word of the gateway takes an operation back",
        changes={
            "app.rules.mapper:compute_transition": Condition(
                {"seen.state.rank", "known.state.rank"}, becomes="seen.state is known.state"
            )
        },
    ),
    Break(
        law=8,
        what="what the gateway says is not compared with what was asked",
        changes={"app.rules.mapper:_mismatch": Returns("None")},
    ),
    Break(
        law=9,
        what="each telling takes the reference that is known by then",
        changes={
            "app.rules.references:ensure_reference": Condition(
                {"operation.psp_reference"}, becomes="operation.psp_reference is None or operation.operation_id"
            )
        },
    ),
    Break(
        law=10,
        what="what the gateway shows is not bound to what we have in flight",
        changes={
            "app.rules.observation:find_matching_operation": Condition(
                {"State.INTENT", "State.UNKNOWN"}, becomes="False"
            )
        },
    ),
    Break(
        law=10,
        what="what others did in silence is not looked for",
        changes={
            "app.rules.decisions.gateway_call:CallReturned._schedule_look_up": Condition(
                {"operation.state.final"}, becomes="False"
            ),
        },
    ),
    Break(
        law=10,
        what="a refund by others is told before the charge that it gives back",
        changes={"app.rules.external_operations:waits_for_charge": Returns("False")},
    ),
    Break(
        law=11,
        what="the budget of a webhook is never spent",
        changes={"integration_base.outbound:Deadline.left": Returns("4.0")},
    ),
    Break(
        law=12,
        what="a page stays open beside another attempt that is paid",
        changes={"app.rules.decisions.competing_attempts:pages_exceeding_remainder": Returns("[]")},
    ),
    Break(
        law=12,
        what="a shopper pays the price before the gift card",
        changes={
            "app.rules.decisions.competing_attempts:AttemptBegun.decide": Condition(
                {"newest.amount", "left"}, becomes="newest.amount <= left or not _covered(others, newest.currency)"
            )
        },
    ),
    Break(
        law=12,
        what="whoever learns that an attempt has come further forgets the others",
        changes={
            "app.rules.apply:_post_repeated": Assigned("payment.attempts_due_at", becomes="None"),
            "app.rules.apply:_post_mismatch": Assigned("payment.attempts_due_at", becomes="None"),
            "app.rules.apply:_reschedule": Assigned("payment.attempts_due_at", becomes="None"),
        },
    ),
    Break(
        law=13,
        what="what the gateway's books have and ours have not is left as it is",
        changes={"app.flows.reconciliation.compare:_match_kind": Assigned("missing", becomes="[]")},
    ),
    Break(
        law=13,
        what="what somebody has looked at is shown no more, though it is open",
        changes={"app.rules.problems:acknowledge": Condition({"_is_open"}, becomes="False")},
    ),
    Break(
        law=13,
        what="a page that cannot be closed is no alert",
        changes={"app.rules.decisions.look_up:_flag_overdue": Condition({"is_settled_by_silence"}, becomes="False")},
    ),
    Break(
        law=14,
        what="what is finer than two decimals is rounded",
        changes={"integration_base.amounts:quantize_to_cents": Returns("amount.quantize(CENT)")},
    ),
    Break(
        law=15,
        what="a time that cannot be decides the day of the money",
        changes={"app.rules.balance:processed_at_of": Returns("Details.from_row(operation.details).processed_at")},
    ),
    Break(
        law=16,
        what="every gateway is taken for the one that is publicly known",
        changes={"app.rules.dialects:dialect_of": Returns("Dialect.of('public', {})")},
    ),
    Break(
        law=16,
        what="what is not believed is not shown",
        changes={"gateway_client.responses:_text_of": Returns("''")},
    ),
    Break(
        law=17,
        what="nobody counts who is turned away",
        changes={"app.store.turned_away:count_refusals": Returns("[None for _ in refusals]")},
    ),
]
