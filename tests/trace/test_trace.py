"""The steps of a payment through the code are counted, and no story takes more statements than its budget."""

import json

import pytest

from tests.trace.__main__ import as_json, as_table
from tests.trace.played import BUDGETS, TRANSACTIONS, Story, play


@pytest.fixture(scope="module")
async def stories() -> list[Story]:
    return await play()


def test_each_story_keeps_to_its_budget(stories: list[Story]) -> None:
    assert [story.name for story in stories] == list(BUDGETS)
    over = [
        f"{story.name}: {story.counts.statements} statements, {story.counts.statements - story.budget} over its budget"
        for story in stories
        if story.counts.statements > story.budget
    ]
    assert not over, "; ".join(over)


def test_a_payment_alone_takes_five_transactions(stories: list[Story]) -> None:
    assert {story.name: story.counts.transactions for story in stories if story.name in TRANSACTIONS} == TRANSACTIONS


def test_the_steps_of_a_payment_are_counted(stories: list[Story]) -> None:
    told = json.loads(as_json(stories))
    assert len(as_table(stories, files=False).splitlines()) == 1 + len(told)
    initialize, notification, refund = told.values()
    for counted in told.values():
        assert "app/moved_names.py" not in counted["entered"], "a library has looked for a module that is not installed"
        assert len(set(counted["entered"])) == len(counted["entered"]) == counted["files"]
        assert counted["files"] <= counted["functions"]
        assert counted["files"] - 1 <= counted["changes"] < counted["functions"]
        assert counted["changes"] < counted["crossings"]
        assert 0 < counted["transactions"] <= counted["statements"]
        assert 0 < counted["loads"] <= counted["statements"]
        assert "app/rules/mapper.py" in counted["entered"]
    # Where each begins, and how far it goes.
    assert initialize["entered"][0] == "app/flows/webhooks.py"
    assert "saleor_app_sdk/responses.py" in initialize["entered"]
    assert "app/flows/notifications.py" in notification["entered"]
    assert "app/worker/deliver.py" in notification["entered"]
    assert "app/web/dashboard/payments/page.py" in refund["entered"]
    assert "gateway_client/client.py" in refund["entered"]
