"""How comparisons and differences are shown, to people and to scripts."""

from collections.abc import Mapping
from typing import Any

from app.commands.terminal import moment, say
from app.db.tables import DiscrepancyKind, DiscrepancyState, MerchantAccount, ReconciliationRun, RunState
from app.i18n.messages import LazyMessage


def account_to_json(account: MerchantAccount) -> dict[str, object]:
    """Return which account it is, for scripts."""
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
        "failure": None if run.failure is None else str(LazyMessage.of(run.failure)),
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


def say_run(run: ReconciliationRun, name: str) -> None:
    """Say in a line what came of a comparison, and in another why it has not ended."""
    days = f"{run.starts_at:%Y-%m-%d} to {run.ends_at:%Y-%m-%d}" if run.starts_at and run.ends_at else "no period yet"
    found = f"{run.orders} orders compared, {run.repaired} repaired, {run.to_people} put to people"
    style = "yellow" if run.to_people or run.state is not RunState.DONE else ""
    say(f"{run.id}: {name}, {days}: {run.state.value}; {found}", style)
    if run.failure is not None:
        again = f" It is tried again at {run.due_at:%H:%M:%S} UTC by the worker." if run.due_at else ""
        say(f"  {LazyMessage.of(run.failure)}{again}", "yellow")


def say_finding(order_id: str, kind: DiscrepancyKind, state: DiscrepancyState, facts: Mapping[str, Any]) -> None:
    """Say in a line where the books differ."""
    gateway, ours = facts["gateway"], facts["ours"]
    theirs = "nothing"
    if gateway is not None:
        theirs = f"{gateway['kind']} {gateway['state']} {gateway['amounts'][0]} {gateway['currency']}"
    known = "nothing" if ours is None else f"{ours['kind']} {ours['state']} {ours['amount']} {ours['currency']}"
    say(f"  {order_id}: {kind.value}, {state.value}; the gateway has {theirs}, we have {known}")
