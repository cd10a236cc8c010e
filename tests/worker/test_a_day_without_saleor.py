"""Saleor was away for a day: what has piled up is delivered when it is back, each once, and nobody new waits for it."""

import pytest

from tests.payments.shop import Shop
from tests.worker.backlog import drain_backlog


@pytest.mark.long  # forty times as many take forty times as long: python -m bench.backlog
@pytest.mark.law(5)
@pytest.mark.fault("saleor-down")
async def test_what_has_piled_up_is_delivered_once_each_and_nobody_new_waits_for_it(shop: Shop) -> None:
    drain = await drain_backlog(shop, 2000)
    assert drain.left == 0
    assert len(drain.heard) == 2000 + 1 + len(drain.overtaken)
    assert set(drain.heard.values()) == {1}
    # What has begun already is finished before: at most the share of the store, and one round more.
    assert max(drain.overtaken) <= 60, drain
    assert drain.statements < 2 * len(drain.heard)
