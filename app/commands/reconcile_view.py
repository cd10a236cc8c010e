"""Formats comparisons and differences, for people and for scripts."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.commands.terminal import count_text, moment, print_line
from app.i18n.messages import LazyMessage, Money
from app.store.tables import DiscrepancyKind, DiscrepancyState, MerchantAccount, ReconciliationRun, RunState


def account_to_json(account: MerchantAccount) -> dict[str, object]:
    """Return the id and name of an account, for scripts."""
    return {"account": account.id, "account_name": account.name}


def run_to_json(run: ReconciliationRun) -> dict[str, object]:
    """Return a comparison, for scripts."""
    return {
        "run": run.id,
        "state": run.state.value,
        "from": moment(run.starts_at),
        "to": moment(run.ends_at),
        "covered_until": moment(run.covered_until),
        "source": None if run.source is None else run.source.value,
        "lines": run.lines,
        "orders": run.orders,
        "looked_up": run.looked_up,
        "repaired": run.repaired,
        "put_to_people": run.to_people,
        "failure": None if run.failure is None else str(LazyMessage.from_json(run.failure)),
        "next_try_at": moment(run.due_at),
        "started_at": moment(run.started_at),
        "finished_at": moment(run.finished_at),
    }


def finding_to_json(
    order_id: str, kind: DiscrepancyKind, state: DiscrepancyState, facts: Mapping[str, Any]
) -> dict[str, object]:
    """Return a difference, for scripts."""
    return {
        "order_id": order_id,
        "kind": kind.value,
        "state": state.value,
        "gateway": facts["gateway"],
        "ours": facts["ours"],
    }


def format_period(start: datetime, end: datetime) -> str:
    """Return the compared period to the minute: the end says what the comparison could not see yet."""
    return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"


def print_run(run: ReconciliationRun, name: str) -> None:
    """Print the result of a comparison in one line, and in another why it has not ended."""
    period = format_period(run.starts_at, run.ends_at) if run.starts_at and run.ends_at else "no period yet"
    found = f"{count_text(run.orders, 'order')} compared, {run.repaired} repaired, {run.to_people} for review"
    style = "yellow" if run.to_people or run.state is not RunState.DONE else ""
    if run.state is RunState.RUNNING and run.started_at is None and run.due_at is not None:
        print_line(f"{run.id}: {name}, {period}: begins at {run.due_at:%H:%M} UTC", style)
        return
    print_line(f"{run.id}: {name}, {period}: {run.state.value}; {found}", style)
    if run.failure is not None:
        again = f" The worker will retry at {run.due_at:%H:%M:%S} UTC." if run.due_at else ""
        print_line(f"  {LazyMessage.from_json(run.failure)}{again}", "yellow")


def print_finding(order_id: str, kind: DiscrepancyKind, state: DiscrepancyState, facts: Mapping[str, Any]) -> None:
    """Print one difference between the books in one line."""
    gateway, ours = facts["gateway"], facts["ours"]
    theirs = "nothing"
    if gateway is not None:
        theirs = f"{gateway['kind']} {gateway['state']} {Money(Decimal(gateway['amounts'][0]), gateway['currency'])}"
    known = (
        "nothing"
        if ours is None
        else f"{ours['kind']} {ours['state']} {Money(Decimal(ours['amount']), ours['currency'])}"
    )
    print_line(f"  {order_id}: {kind.value}, {state.value}; gateway: {theirs}, ours: {known}")
