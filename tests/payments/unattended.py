"""What nobody looks at: no operation may be so (laws of money, 13)."""

from app.ledger.sheets import Sheet
from app.ledger.tables import Operation, State
from app.payments.outcome.balance import balance
from app.payments.outcome.problems import open_problems


def unattended(sheet: Sheet) -> list[Operation]:
    """Return the operations that are open, at which nobody will look, and of which no person is told."""
    told = bool(open_problems(sheet.payment))
    waits_for_another = balance(sheet.payment.flow, sheet.operations).in_flight
    return [
        each
        for each in sheet.operations
        if not each.state.final
        and each.next_look_at is None
        and not told
        and not (each.state is State.WAITING and waits_for_another)
    ]
