"""Whether a worker works: without one Saleor hears nothing, and the gateway's notifications stay unread."""

from collections.abc import Sequence

from app.db.processes import SILENT_AFTER, all_processes
from app.doctor.findings import Finding, Subject, error, fine, warning
from app.i18n.messages import Joined, LazyMessage
from app.payments.services import Services

_START = LazyMessage(
    "Start “saleor-gateway worker”, or “saleor-gateway run” without APP_WORKER=false. If one runs, see its log."
)


async def check_worker(services: Services) -> Sequence[Finding]:
    """Look when a worker was seen last, and whether all processes are of one version."""
    async with services.database.transaction() as session:
        processes = await all_processes(session)
    there = [each for each in processes if services.now() - each.seen_at <= SILENT_AFTER]
    last = next((each for each in processes if each.works), None)
    found: list[Finding] = []
    if last is None:
        what = LazyMessage("No worker was seen: Saleor is told nothing, and notifications stay unread.")
        found.append(error(Subject.WORKER, what, _START))
    elif last not in there:
        what = LazyMessage(
            "No worker was seen since %(when)s: Saleor is told nothing, and notifications stay unread.",
            when=last.seen_at,
        )
        found.append(error(Subject.WORKER, what, _START, detail=f"the last was {last.host}, process {last.pid}"))
    else:
        found.append(fine(Subject.WORKER, LazyMessage("A worker was seen at %(when)s.", when=last.seen_at)))
    versions = sorted({each.version for each in there})
    if len(versions) > 1:
        what = LazyMessage("Processes of different versions run: %(versions)s.", versions=Joined(tuple(versions)))
        found.append(warning(Subject.WORKER, what, LazyMessage("Restart those of the older version.")))
    return found
