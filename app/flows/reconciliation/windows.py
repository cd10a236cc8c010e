"""Processes the windows of a comparison in turn: reads the books, compares the orders and settles the differences.

Progress is stored together with the findings, so that another process can take over and continue from there.
"""

from collections.abc import Sequence

from app.flows.look_up import client_of
from app.flows.reconciliation.compare import Period, find_differences
from app.flows.reconciliation.gather import read_orders, read_register, start_register
from app.flows.reconciliation.orders import LookUps, PaymentDifference, build_finding, compare_orders, recheck, settle
from app.flows.reconciliation.progress import Progress
from app.flows.reconciliation.spool import Spool, open_spool
from app.flows.reconciliation.totals import Totals, windows
from app.services import Services
from app.store.day_sums import find_order_owners, store_days
from app.store.reconciliations import (
    Finding,
    lock_comparisons,
    paid_orders_page,
    payments_of_orders,
    plan_run,
    record_findings,
    unsettled_discrepancies,
    update_run,
)
from app.store.tables import DiscrepancyState, MerchantAccount, ReconciliationRun, RunState, Source
from gateway_client.errors import NotFoundError
from gateway_client.models.reports import RegisterTicket

BATCH_SIZE = 100
"""Orders compared per batch: few, because other tasks of this process wait for the database."""

_SUM_BATCH_SIZE = 500


class Comparison:
    """One comparison, resumed from the progress stored in its row."""

    def __init__(
        self, services: Services, run: ReconciliationRun, account: MerchantAccount, progress: Progress
    ) -> None:
        self._services = services
        self._run = run
        self._account = account
        self._progress = progress
        self._look_ups = LookUps(services)
        self._client = client_of(services, account)

    async def resume(self) -> None:
        """Compare the rest of the period."""
        run, services = self._run, self._services
        await self._recheck()
        if run.starts_at is not None and run.ends_at is not None:
            for period in windows(run.starts_at, run.ends_at, run.covered_until):
                await self._compare_window(period)
        async with services.database.transaction() as session:
            await update_run(
                session,
                run.id or 0,
                state=RunState.DONE,
                failure=None,
                attempts=0,
                finished_at=services.now(),
                due_at=None,
            )
            await plan_run(session, self._account, services.now())

    async def _recheck(self) -> None:
        """Check again the differences that are not settled yet."""
        after = 0
        while True:
            async with self._services.database.transaction() as session:
                rows = await unsettled_discrepancies(session, self._account.id, after=after, most=BATCH_SIZE)
            if not rows:
                return
            await self._save(await recheck(self._services, self._look_ups, rows))
            after = rows[-1].id or 0

    async def _compare_window(self, period: Period) -> None:
        """Compare the books of one window."""
        self._progress.start_window(period.start, period.end)
        async with open_spool() as spool:
            await self._gather(spool, period)
            self._progress.start_comparing(await spool.count_orders())
            while lines := await spool.next_orders(self._run.after_order, BATCH_SIZE):
                found, unknown_orders = await compare_orders(self._services, self._account, lines, period)
                settled = await self._settle(found)
                await self._save([*settled, *unknown_orders], list(lines))
                self._progress.add_compared(len(lines))
            await self._compare_missing(spool, period)
            totals = await self._sum_up(spool, period)
        now = self._services.now()
        columns: dict[str, object] = {
            "covered_until": period.end,
            "after_order": None,
            "report_id": None,
            "report_count": None,
            "attempts": 0,
            "lines": self._run.lines + spool.lines,
        }
        async with self._services.database.transaction() as session:
            await lock_comparisons(session, self._account.id)
            await store_days(session, self._account.id, totals.daily_books(self._account.id, self._run.id or 0, now))
            await update_run(session, self._run.id or 0, **columns)
        self._apply_to_run(columns)

    async def _sum_up(self, spool: Spool, period: Period) -> Totals:
        """Sum up the gateway's books by day. Orders without a payment of ours count at one account of a store."""
        account, after = self._account, None
        totals = Totals(period, account.payouts)
        totals.count_unreadable(count=spool.without_order_id)
        takes_strays = await self._is_first_of_its_point_of_sale()
        while lines := await spool.next_orders(after, _SUM_BATCH_SIZE):
            async with self._services.database.transaction() as session:
                owners = await find_order_owners(session, list(lines))
            for order_id, of_order in lines.items():
                owner = owners.get(order_id)
                if owner is None or owner.pos_id.lower() != account.pos_id.lower():
                    if takes_strays and not (owner is None and account.is_order_of_others(order_id)):
                        totals.add(of_order, None)
                elif owner.account_id == account.id:
                    totals.add(of_order, owner)
            after = list(lines)[-1]
        return totals

    async def _is_first_of_its_point_of_sale(self) -> bool:
        mine, pos_id = self._account, self._account.pos_id.lower()
        same = [
            account
            for account in await self._services.accounts.all()
            if account.installation_id == mine.installation_id and account.pos_id.lower() == pos_id
        ]
        return mine.id == min(same, key=lambda operation: (operation.created_at, operation.id)).id

    async def _gather(self, spool: Spool, period: Period) -> None:
        run = self._run
        if run.source is not Source.ORDERS:
            ticket = await self._ticket(period)
            if ticket is not None:
                try:
                    await self._update_run(source=await read_register(self._client, ticket, spool, self._progress))
                except NotFoundError:  # the register has expired: the next attempt requests another
                    await self._update_run(report_id=None, report_count=None)
                    raise
                return
        await self._update_run(source=await read_orders(self._client, period.start, period.end, spool, self._progress))

    async def _ticket(self, period: Period) -> RegisterTicket | None:
        run = self._run
        if run.report_id is not None:
            return RegisterTicket(report_id=run.report_id, count=run.report_count)
        ticket = await start_register(self._client, period.start, period.end)
        if ticket is not None:
            await self._update_run(report_id=ticket.report_id, report_count=ticket.count, attempts=0)
        return ticket

    async def _settle(self, found: list[PaymentDifference]) -> list[Finding]:
        if not found:
            return []
        # Stored before the gateway is queried: after a crash, the next process has the findings.
        await self._save([build_finding(payment, difference, DiscrepancyState.FOUND) for payment, difference in found])
        return await settle(self._services, self._look_ups, found)

    async def _compare_missing(self, spool: Spool, period: Period) -> None:
        """Find payments that succeeded in this period by our books, but are not in the gateway's at all."""
        after = (period.start, 0)
        while True:
            async with self._services.database.transaction() as session:
                page = await paid_orders_page(session, self._account.id, after, period.end, most=BATCH_SIZE)
                missing = await spool.missing([order_id for *_, order_id in page]) if page else set()
                payments = await payments_of_orders(session, missing) if missing else {}
            if not page:
                return
            found: list[PaymentDifference] = [
                (payment, difference)
                for payment in payments.values()
                for difference in find_differences(payment, [], period)
            ]
            await self._save(await self._settle(found))
            begun, row_id, _ = page[-1]
            after = (begun, row_id)

    async def _save(self, found: list[Finding], compared: Sequence[str] = ()) -> None:
        """Store findings together with the progress: the orders in ``compared`` are done."""
        run, now = self._run, self._services.now()
        columns: dict[str, object] = {
            "looked_up": run.looked_up + self._look_ups.made,
            "repaired": run.repaired + sum(finding.state is DiscrepancyState.REPAIRED for finding in found),
            "to_people": run.to_people + sum(finding.state is DiscrepancyState.TO_PEOPLE for finding in found),
        }
        if compared:
            columns |= {"after_order": compared[-1], "orders": run.orders + len(compared)}
        elif not (found or self._look_ups.made):
            return
        self._look_ups.made = 0
        async with self._services.database.transaction() as session:
            if found:
                await record_findings(session, run, found, now)
            await update_run(session, run.id or 0, **columns)
        self._apply_to_run(columns)

    async def _update_run(self, **columns: object) -> None:
        async with self._services.database.transaction() as session:
            await update_run(session, self._run.id or 0, **columns)
        self._apply_to_run(columns)

    def _apply_to_run(self, columns: dict[str, object]) -> None:
        for name, value in columns.items():
            setattr(self._run, name, value)
