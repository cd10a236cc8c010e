"""A comparison for somebody who only wants to know: nothing is looked up, repaired, written or told."""

from datetime import datetime

from app.db.reconciliations import Finding
from app.db.tables import DiscrepancyState, MerchantAccount
from app.gateway.models.reports import periods
from app.payments.operations.look_up import opened
from app.payments.reconciliation.compare import Period
from app.payments.reconciliation.gather import read_orders, read_register, start_register
from app.payments.reconciliation.orders import differing, finding
from app.payments.reconciliation.progress import Progress
from app.payments.reconciliation.spool import open_spool
from app.payments.reconciliation.windows import AT_ONCE
from app.payments.services import Services

_PATIENCE = 600.0  # seconds that a register is waited for


async def preview(
    services: Services, account: MerchantAccount, start: datetime, end: datetime, progress: Progress
) -> list[Finding]:
    """Return where the books differ over a period; nothing is looked up, written or told. Raises GatewayError."""
    client = opened(services, account)
    found: list[Finding] = []
    for since, until in periods(start, end):
        period = Period(since, until)
        progress.begins(since, until)
        async with open_spool() as spool:
            ticket = await start_register(client, since, until)
            if ticket is None:
                await read_orders(client, since, until, spool, progress)
            else:
                await read_register(client, ticket, spool, progress, patience=_PATIENCE)
            progress.compares(await spool.orders())
            after = None
            while lines := await spool.of_orders(after, AT_ONCE):
                ours, of_others = await differing(services, account, lines, period)
                found += [finding(payment, each, DiscrepancyState.FOUND) for payment, each in ours]
                found += of_others
                progress.has_compared(len(lines))
                after = list(lines)[-1]
    return found
