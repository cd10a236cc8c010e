"""The secret key is changed while the shop sells: nothing stands still, and the old key is needed for nothing."""

import asyncio
from decimal import Decimal

import pytest

from tests.journeys.stack import Stack
from tests.journeys.stories import assert_books_agree, wait_for_event, wait_until_quiet
from tests.journeys.terminal import Terminal
from tests.journeys.test_staff_act import paid


@pytest.mark.threat("leaked-key")
async def test_beside_the_running_app(shop: Stack, terminal: Terminal) -> None:
    before, file = await paid(shop), shop.settings.key_file
    new = (await terminal.type("secrets", "add-key"))["key"]
    # The app, which has only the old key, takes payments while everything is sealed with the new one.
    during, resealed = await asyncio.gather(paid(shop), terminal.type("secrets", "reseal"))
    assert (resealed["sealed"] >= 5, resealed["unopened"], resealed["missing_keys"]) == (True, {}, {})
    await shop.saleor.refund(before.id, Decimal("30.00"))  # with keys that it reads anew, and a key that it meets
    await wait_for_event(shop, before.id, "REFUND_SUCCESS")
    await shop.app.stop()
    await terminal.type("secrets", "reseal")  # what was written with the old key meanwhile
    checked = await terminal.type("secrets", "check")
    assert [key["removable"] for key in checked["keys"]] == [False, True]
    file.write_text(file.read_text().splitlines()[0])
    await shop.app.start()
    checked = await terminal.type("secrets", "check")
    assert ([key["key"] for key in checked["keys"]], checked["missing_keys"]) == ([new], {})
    for transaction in (before, during, await paid(shop)):
        await wait_until_quiet(shop, transaction.id)
        await assert_books_agree(shop, transaction.id)
