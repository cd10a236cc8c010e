"""How many steps a payment takes: counted, and no more than promised."""

import json

from tests.trace.__main__ import as_json, as_table
from tests.trace.played import play


async def test_the_steps_of_a_payment_are_counted() -> None:
    played = await play()
    stories = json.loads(as_json(played))
    assert len(as_table(played, files=False).splitlines()) == 1 + len(stories)
    initialize, notification, refund = stories.values()
    for each in stories.values():
        assert len(set(each["entered"])) == len(each["entered"]) == each["files"]
        assert each["files"] <= each["functions"]
        assert each["files"] - 1 <= each["changes"] < each["functions"]
        assert each["changes"] < each["crossings"]
        assert 0 < each["transactions"] <= each["statements"]
        assert "payments/core/mapper.py" in each["entered"]
    # Where each begins, and how far it goes.
    assert initialize["entered"][0] == "payments/webhooks.py"
    assert "saleor/responses.py" in initialize["entered"]
    assert "payments/sync/notifications.py" in notification["entered"]
    assert "worker/deliver.py" in notification["entered"]
    assert "dashboard/payments/page.py" in refund["entered"]
    assert "gateway/client.py" in refund["entered"]
    # Loaded once for what is decided and once for what came of it, which is what is shown; and the notifications.
    assert refund["loads"] == 2
    assert refund["transactions"] <= 3
    # The intent (and whether the store has moved), the outcome.
    assert initialize["transactions"] <= 2
    # More files than these is a step back: aim lower when it has become fewer.
    assert initialize["files"] <= 60
    assert refund["files"] <= 72
