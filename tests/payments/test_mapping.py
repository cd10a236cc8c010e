"""The table of what follows from what, played line by line (docs/mapping.md; laws of money, 2, 7, 8, 9, 10)."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.chaos.inline_sqlite import inline_sqlite
from tests.payments.mapping.page import PAGE, render_page
from tests.payments.mapping.scenes import reset_shop
from tests.payments.mapping.table import SECTIONS, Section
from tests.payments.shop import Shop


@pytest.fixture(autouse=True)
def _at_once() -> Iterator[None]:
    """A thousand lines are played, one after the other: nobody waits for a thread meanwhile."""
    with inline_sqlite():
        yield


sections = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)


_SHORT = 25  # cases; a longer section takes many seconds
played = pytest.mark.parametrize(
    "section",
    [
        pytest.param(section, id=section.name, marks=() if len(list(section.cases)) < _SHORT else pytest.mark.long)
        for section in SECTIONS
    ],
)


@sections
def test_nothing_is_left_out_and_nothing_is_said_twice(section: Section) -> None:
    said = Counter(name for row in section.rows for name in row.said)
    assert said == Counter(list(section.cases))


# What follows does not depend on the database; the tests of each law run on both.
@pytest.mark.timeout(600)  # some hundred lines each
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@played
async def test_what_the_table_says_is_what_follows(shop: Shop, section: Section) -> None:
    await shop.services.accounts.change(shop.account.id, pci_dss_confirmed_at=shop.clock.now)
    wrong = []
    for row in section.rows:
        for name in row.said:
            for flow in section.flows:
                follows = await section.play(shop, name, flow)
                if follows != row.consequences or shop.gateway.script or shop.gateway.look_ups:
                    wrong.append((name, flow, follows))
                await reset_shop(shop)
    assert wrong == []


def test_the_page_is_made_of_the_table() -> None:
    """``make mapping`` makes it anew."""
    assert PAGE.read_text() == render_page()
