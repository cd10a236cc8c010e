"""One way to break each law of money: the line that keeps it is taken out of a copy of the program."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Break:
    """A small change of text in the files of ``app/`` that match ``where``, and what it does to the law."""

    law: int
    what: str
    where: str
    old: str
    new: str

    def files(self, root: Path) -> list[Path]:
        """Return the files that hold the text."""
        return [file for file in sorted((root / "app").glob(self.where)) if self.old in file.read_text()]

    def make(self, root: Path) -> int:
        """Break the law in the program at ``root``; return how many places were changed."""
        places = 0
        for file in self.files(root):
            text = file.read_text()
            places += text.count(self.old)
            file.write_text(text.replace(self.old, self.new))
        return places


BREAKS = [
    Break(
        law=1,
        what="the gateway is called before the intent is committed",
        where="payments/operations/actions.py",
        old="        try:\n            aggregate, operation = await services.payments.update(which, record)\n",
        new=(
            "        try:\n"
            "            known = await services.payments.find(which)\n"
            "            if known is not None:\n"
            "                from app.payments.operations.execute import _call_gateway\n"
            "                asks = _record_action(services, known, request, [])\n"
            "                if asks.state is State.INTENT:\n"
            "                    await _call_gateway(services, known.payment.account, known, asks, 2.0)\n"
            "            aggregate, operation = await services.payments.update(which, record)\n"
        ),
    ),
    Break(
        law=1,
        what="an intent that nobody has concluded is not looked up",
        where="payments/core/schedule.py",
        old="return now + self.budget + self.first_settle",
        new="return now + self.settling_time * 1000",
    ),
    Break(
        law=2,
        what="an outcome that is not known is a failure",
        where="payments/core/call_errors.py",
        old="return isinstance(error, DuplicateOrderError) or not nothing_was_done",
        new="return isinstance(error, DuplicateOrderError)",
    ),
    Break(
        law=2,
        what="a clock that is put ahead makes a long silence of a short one",
        where="payments/core/schedule.py",
        old="        return looks > most\n",
        new="        return True\n",
    ),
    Break(
        law=2,
        what="whatever says no is taken for the gateway",
        where="gateway/responses.py",
        old="        raise _not_the_gateway(call, response, members)\n",
        new="        raise _refusal(call, response, members)\n",
    ),
    Break(
        law=2,
        what="a page of which nobody has the link is not closed",
        where="payments/operations/transition.py",
        old="        aggregate.operations.append(closing)\n",
        new="        del closing\n",
    ),
    Break(
        law=3,
        what="a second operation does not wait for the first",
        where="payments/operations/actions.py",
        old="(State.WAITING if waits else State.INTENT)",
        new="State.INTENT",
    ),
    Break(
        law=3,
        what="what nobody has locked decides",
        where="db/repository.py",
        old="    .with_for_update(of=Payment)\n",
        new="",
    ),
    Break(
        law=4,
        what="what staff asked before is asked again",
        where="payments/operations/actions.py",
        old="    if known is not None:\n        return known, False\n",
        new=('    if known is not None:\n        key = f"{key}-{len(aggregate.operations)}"\n'),
    ),
    Break(
        law=5,
        what="state is committed without the event that tells of it",
        where="db/aggregates.py",
        old="session.add_all([*aggregate.operations, *aggregate.events",
        new="session.add_all([*aggregate.operations",
    ),
    Break(
        law=6,
        what="a notification whose processing failed is given up",
        where="payments/sync/notifications.py",
        old="services.inbox.postpone(notification_id, reason=reason, until=until, trouble=Trouble.FAILED)",
        new="services.inbox.process(notification_id, lambda *_: ProcessingResult(reason, Trouble.FAILED), until)",
    ),
    Break(
        law=7,
        what="a late word of the gateway takes an operation back",
        where="payments/core/mapper.py",
        old="if seen.state.rank <= known.state.rank and not known.inferred:",
        new="if seen.state is known.state:",
    ),
    Break(
        law=8,
        what="what the gateway says is not compared with what was asked",
        where="payments/core/mapper.py",
        old="problem = _mismatch(known, seen)",
        new="problem = None",
    ),
    Break(
        law=9,
        what="each telling takes the reference that is known by then",
        where="payments/core/references.py",
        old="if operation.psp_reference is None:",
        new="if operation.psp_reference is None or operation.operation_id:",
    ),
    Break(
        law=10,
        what="what the gateway shows is not bound to what we have in flight",
        where="payments/core/observation.py",
        old="(each.state in {State.INTENT, State.UNKNOWN} or each.inferred)",
        new="each.inferred",
    ),
    Break(
        law=2,
        what="a look-up that does not show the payment is believed",
        where="payments/sync/resolve.py",
        old="    order_id, cancels = aggregate.payment.order_id, operation.kind is Kind.CANCEL\n",
        new="    order_id, cancels = aggregate.payment.order_id, operation.kind is Kind.CANCEL\n    return True\n",
    ),
    Break(
        law=10,
        what="what others did in silence is not looked for",
        where="payments/operations/transition.py",
        old="posting.now if result.others_acted else posting.schedule.next_order_look_up(posting.now)",
        new="None",
    ),
    Break(
        law=13,
        what="what the gateway's books have and ours have not is left as it is",
        where="payments/reconciliation/compare.py",
        old="    missing = [each for each in waiting if each.state is not State.FAILURE]\n",
        new="    missing: list[Entry] = []\n",
    ),
    Break(
        law=13,
        what="what somebody has looked at is shown no more, though it is open",
        where="payments/core/problems.py",
        old="if each.kind in ACCOUNT_KINDS or _is_open(each, operations):",
        new="if each.kind in ACCOUNT_KINDS:",
    ),
    Break(
        law=11,
        what="the budget of a webhook is never spent",
        where="outbound.py",
        old="return max(0.0, self._end - self._monotonic())",
        new="return 4.0",
    ),
    Break(
        law=12,
        what="a page stays open beside another attempt that is paid",
        where="payments/operations/competing_attempts.py",
        old="covered and each.open and each.amount > to_pay - covered",
        new="False",
    ),
    Break(
        law=12,
        what="whoever learns that an attempt has come further forgets the others",
        where="payments/core/apply.py",
        old="        payment.attempts_due_at = posting.now\n",
        new="        payment.attempts_due_at = None\n",
    ),
    Break(
        law=13,
        what="a page that cannot be closed is no alert",
        where="payments/sync/resolve.py",
        old="not operation.state.final and posting.schedule.is_settled_by_silence(operation.created_at, posting.now)",
        new="False",
    ),
    Break(
        law=14,
        what="what is finer than two decimals is rounded",
        where="amounts.py",
        old='raise ValueError("an amount has at most two decimals")',
        new="amount = amount.quantize(CENT)",
    ),
]
