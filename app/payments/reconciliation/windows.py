"""The windows of a comparison, one after the other: their books are read, their orders compared and settled.

How far it has come is written with what was found, so that whoever takes it over goes on there.
"""

from collections.abc import Sequence

from app.db.day_sums import keep_days, owners_of
from app.db.reconciliations import (
    Finding,
    change,
    one_at_a_time,
    paid_between,
    payments_of_orders,
    plan,
    record,
    unsettled,
)
from app.db.tables import DiscrepancyState, MerchantAccount, ReconciliationRun, RunState, Source
from app.gateway.errors import NotFoundError
from app.gateway.models.reports import RegisterTicket
from app.payments.operations.look_up import opened
from app.payments.reconciliation.compare import Period, differences
from app.payments.reconciliation.gather import read_orders, read_register, start_register
from app.payments.reconciliation.orders import Differing, LookUps, differing, finding, recheck, settle
from app.payments.reconciliation.progress import Progress
from app.payments.reconciliation.spool import Spool, open_spool
from app.payments.reconciliation.totals import Totals, windows
from app.payments.services import Services

AT_ONCE = 100
"""Orders that are compared together: few, because others of this process wait for the database meanwhile."""

_SUMMED_AT_ONCE = 500


class Comparison:
    """One comparison, as far as it has come by its row."""

    def __init__(
        self, services: Services, run: ReconciliationRun, account: MerchantAccount, progress: Progress
    ) -> None:
        self._services = services
        self._run = run
        self._account = account
        self._progress = progress
        self._look_ups = LookUps(services)
        self._client = opened(services, account)

    async def go_on(self) -> None:
        """Compare what is left of the period."""
        run, services = self._run, self._services
        await self._recheck()
        if run.starts_at is not None and run.ends_at is not None:
            for period in windows(run.starts_at, run.ends_at, run.covered_until):
                await self._window(period)
        async with services.database.transaction() as session:
            await change(
                session,
                run.id or 0,
                state=RunState.DONE,
                failure=None,
                attempts=0,
                finished_at=services.now(),
                due_at=None,
            )
            await plan(session, self._account, services.now())

    async def _recheck(self) -> None:
        """See what became of what was not settled until now."""
        after = 0
        while True:
            async with self._services.database.transaction() as session:
                rows = await unsettled(session, self._account.id, after=after, most=AT_ONCE)
            if not rows:
                return
            await self._keep(await recheck(self._services, self._look_ups, rows))
            after = rows[-1].id or 0

    async def _window(self, period: Period) -> None:
        """Compare the books of one window."""
        self._progress.begins(period.start, period.end)
        async with open_spool() as spool:
            await self._gather(spool, period)
            self._progress.compares(await spool.orders())
            while lines := await spool.of_orders(self._run.after_order, AT_ONCE):
                found, of_others = await differing(self._services, self._account, lines, period)
                settled = await self._settle(found)
                await self._keep([*settled, *of_others], list(lines))
                self._progress.has_compared(len(lines))
            await self._look_for_what_is_missing(spool, period)
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
            await one_at_a_time(session, self._account.id)
            await keep_days(session, self._account.id, totals.books(self._account.id, self._run.id or 0, now))
            await change(session, self._run.id or 0, **columns)
        self._remember(columns)

    async def _sum_up(self, spool: Spool, period: Period) -> Totals:
        """Sum up what the gateway's books say of each day. What is nobody's here counts at one account of a store."""
        account, after = self._account, None
        totals = Totals(period, account.payouts)
        totals.cannot_read(count=spool.nameless)
        takes_strays = await self._is_first_of_its_point_of_sale()
        while lines := await spool.of_orders(after, _SUMMED_AT_ONCE):
            async with self._services.database.transaction() as session:
                owners = await owners_of(session, list(lines))
            for order_id, of_order in lines.items():
                owner = owners.get(order_id)
                if owner is None or owner.pos_id.lower() != account.pos_id.lower():
                    if takes_strays:
                        totals.add(of_order, None)
                elif owner.account_id == account.id:
                    totals.add(of_order, owner)
            after = list(lines)[-1]
        return totals

    async def _is_first_of_its_point_of_sale(self) -> bool:
        mine, pos_id = self._account, self._account.pos_id.lower()
        same = [
            each
            for each in await self._services.accounts.all()
            if each.installation_id == mine.installation_id and each.pos_id.lower() == pos_id
        ]
        return mine.id == min(same, key=lambda each: (each.created_at, each.id)).id

    async def _gather(self, spool: Spool, period: Period) -> None:
        run = self._run
        if run.source is not Source.ORDERS:
            ticket = await self._ticket(period)
            if ticket is not None:
                try:
                    await self._change(source=await read_register(self._client, ticket, spool, self._progress))
                except NotFoundError:  # it was made too long ago: the next try asks for another
                    await self._change(report_id=None, report_count=None)
                    raise
                return
        await self._change(source=await read_orders(self._client, period.start, period.end, spool, self._progress))

    async def _ticket(self, period: Period) -> RegisterTicket | None:
        run = self._run
        if run.report_id is not None:
            return RegisterTicket(report_id=run.report_id, count=run.report_count)
        ticket = await start_register(self._client, period.start, period.end)
        if ticket is not None:
            await self._change(report_id=ticket.report_id, report_count=ticket.count, attempts=0)
        return ticket

    async def _settle(self, found: list[Differing]) -> list[Finding]:
        if not found:
            return []
        # Kept before anybody is asked: who dies over it leaves to the next what was found.
        await self._keep([finding(payment, each, DiscrepancyState.FOUND) for payment, each in found])
        return await settle(self._services, self._look_ups, found)

    async def _look_for_what_is_missing(self, spool: Spool, period: Period) -> None:
        """Look for payments that have succeeded in this period by our books, of which the gateway's have nothing."""
        after = (period.start, 0)
        while True:
            async with self._services.database.transaction() as session:
                page = await paid_between(session, self._account.id, after, period.end, most=AT_ONCE)
                missing = await spool.missing([order_id for *_, order_id in page]) if page else set()
                payments = await payments_of_orders(session, missing) if missing else {}
            if not page:
                return
            found: list[Differing] = [
                (each, difference) for each in payments.values() for difference in differences(each, [], period)
            ]
            await self._keep(await self._settle(found))
            begun, row_id, _ = page[-1]
            after = (begun, row_id)

    async def _keep(self, found: list[Finding], compared: Sequence[str] = ()) -> None:
        """Write what was found together with how far it has come: these orders are ``compared``."""
        run, now = self._run, self._services.now()
        columns: dict[str, object] = {
            "looked_up": run.looked_up + self._look_ups.made,
            "repaired": run.repaired + sum(each.state is DiscrepancyState.REPAIRED for each in found),
            "to_people": run.to_people + sum(each.state is DiscrepancyState.TO_PEOPLE for each in found),
        }
        if compared:
            columns |= {"after_order": compared[-1], "orders": run.orders + len(compared)}
        elif not (found or self._look_ups.made):
            return
        self._look_ups.made = 0
        async with self._services.database.transaction() as session:
            if found:
                await record(session, run, found, now)
            await change(session, run.id or 0, **columns)
        self._remember(columns)

    async def _change(self, **columns: object) -> None:
        async with self._services.database.transaction() as session:
            await change(session, self._run.id or 0, **columns)
        self._remember(columns)

    def _remember(self, columns: dict[str, object]) -> None:
        for name, value in columns.items():
            setattr(self._run, name, value)
