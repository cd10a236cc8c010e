"""A released version is replaced by this one while people pay, with payments in every state; needs the release's files.

    git worktree add /tmp/v0.2.0 v0.2.0
    PREVIOUS_RELEASE=/tmp/v0.2.0 pytest tests/journeys/test_upgrade_of_a_release.py -m long

The old processes run on the libraries of this environment.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path

import pytest

from app.store.migrate import current_revision, newest_revision
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.audit import assert_three_books_agree
from tests.journeys.stack import Stack
from tests.journeys.stories import TOTAL, ZERO, begin, charge_part, order_id_of, wait_for_event, wait_until_quiet
from tests.journeys.test_rolling_restart import open_behind_a_proxy, people_paying, replaced

RELEASE = os.environ.get("PREVIOUS_RELEASE", "")
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not RELEASE, reason="PREVIOUS_RELEASE says where the files of a release are"),
]

_OPEN_ACCOUNT = """
import asyncio, sys
from types import SimpleNamespace
from app.settings import read_settings
from tests.journeys.stack import Stack
stack = SimpleNamespace(
    settings=read_settings(), saleor=SimpleNamespace(api_url=sys.argv[1]), gateway_url=sys.argv[2]
)
asyncio.run(Stack.open_account(stack))
"""


async def _run(environment: Mapping[str, str], *words: str) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, *words, env=environment)
    assert await process.wait() == 0, words


async def _open_account(shop: Stack) -> None:
    await _run(shop.app.environment, "-c", _OPEN_ACCOUNT, shop.saleor.api_url, shop.gateway_url)


@pytest.mark.fault("two-versions")
async def test_a_release_is_replaced_while_people_pay(
    new_postgresql: Callable[[], str], tmp_path: Path, neighbours: tuple[str, str]
) -> None:
    database, ours = new_postgresql(), os.environ.get("PYTHONPATH", "")
    theirs = {"PYTHONPATH": RELEASE}
    await _run({**os.environ, **theirs, "APP_DATABASE_URL": database}, "-m", "app.cli", "migrate")
    async with open_behind_a_proxy(database, tmp_path, neighbours, theirs, _open_account) as (shop, proxy, processes):
        # In every state when the new version comes.
        _, is_open = await begin(shop)
        _, declined = await begin(shop)
        await shop.gateway.decline(order_id_of(declined))
        paid = []
        for _ in range(2):
            _, session = await begin(shop)
            await shop.gateway.pay(order_id_of(session))
            paid.append((await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")).id)
        reserved = []
        for _ in range(4):
            _, session = await begin(shop, Flow.AUTHORIZATION)
            await shop.gateway.pay(order_id_of(session))
            reserved.append((await wait_for_event(shop, session.required_transaction.id, "AUTHORIZATION_SUCCESS")).id)
        await shop.saleor.refund(paid[0], Decimal("10.00"))
        await wait_for_event(shop, paid[0], "REFUND_SUCCESS")

        async with people_paying(shop, proxy, processes) as one_more_each:
            await one_more_each()
            new = {**shop.app.environment, "PYTHONPATH": ours}
            await _run(new, "-m", "app.cli", "migrate")
            assert await current_revision(database) == newest_revision()
            await one_more_each()  # the old ones alone, on the migrated database
            await shop.saleor.refund(paid[1], Decimal("5.00"))
            await shop.saleor.charge(reserved[0])
            for old_process in processes:
                old_process.environment = {**old_process.environment, "PYTHONPATH": ours}
                await replaced(old_process)
                await one_more_each()
            # What the old version has begun, the new one ends.
            await shop.gateway.pay(order_id_of(is_open))
            await wait_for_event(shop, is_open.required_transaction.id, "CHARGE_SUCCESS")
            for transaction_id in paid:
                await shop.saleor.refund(transaction_id, Decimal("1.00"))
                await wait_until_quiet(shop, transaction_id)
            charged, charged_later, charged_in_part, voided = reserved
            await wait_for_event(shop, charged, "CHARGE_SUCCESS")
            await shop.saleor.refund(charged, Decimal("1.00"))
            await wait_for_event(shop, charged, "REFUND_SUCCESS")
            await shop.saleor.charge(charged_later)
            await charge_part(shop, charged_in_part, Decimal("300.00"))
            await shop.saleor.cancel(voided)
            for transaction_id, event, sums in (
                (charged_later, "CHARGE_SUCCESS", (TOTAL, ZERO)),
                (charged_in_part, "CANCEL_SUCCESS", (Decimal("300.00"), Decimal("269.50"))),
                (voided, "CANCEL_SUCCESS", (ZERO, TOTAL)),
            ):
                amounts = (await wait_for_event(shop, transaction_id, event)).amounts
                assert (amounts.charged, amounts.canceled, amounts.authorized) == (*sums, ZERO)
                await wait_until_quiet(shop, transaction_id)
        await assert_three_books_agree(shop)
