"""Saleor's channels beside the store's accounts: what is missing before shoppers can pay there."""

from typing import Any

import pytest

from app.flows.accounts.channels import ChannelMap, Missing, find_project_moves, is_slug, match_channels, successors
from app.store.tables import MerchantAccount
from saleor_app_sdk.channels import Channel

UAH = Channel("uah", "Україна", "UAH", active=True)


def account(**different: Any) -> MerchantAccount:
    usual: dict[str, Any] = {
        "id": "a",
        "enabled": True,
        "currencies": ["UAH"],
        "storefront_origins": ["https://shop.example.com"],
    }
    return MerchantAccount(**(usual | different))


@pytest.mark.parametrize(
    ("channel", "taken_by", "missing", "works"),
    [
        (UAH, account(), [], True),
        (UAH, None, [Missing.ACCOUNT], False),
        (UAH, account(enabled=False), [Missing.SWITCHED_ON], False),
        (UAH, account(currencies=["EUR"]), [Missing.CURRENCY], False),
        (UAH, account(storefront_origins=[]), [Missing.STOREFRONT], True),
        (Channel("uah", "U", "UAH", active=False), account(), [Missing.ACTIVE], False),
    ],
)
def test_what_is_missing(
    channel: Channel, taken_by: MerchantAccount | None, missing: list[Missing], *, works: bool
) -> None:
    (standing,) = match_channels([channel], {"uah": taken_by} if taken_by else {})
    assert (list(standing.missing), standing.works) == (missing, works)


def test_a_mapped_channel_that_saleor_has_no_more_is_shown_after_the_others() -> None:
    standings = match_channels([UAH], {"gone": account()})
    assert [standing.slug for standing in standings] == ["uah", "gone"]
    assert standings[1].missing == (Missing.CHANNEL,)
    assert not standings[1].works


def test_when_saleor_does_not_tell_nothing_is_said_to_be_missing_there() -> None:
    (standing,) = match_channels(None, {"uah": account()})
    assert (standing.name, standing.currency, standing.missing, standing.works) == (None, None, (), True)
    [move] = find_project_moves(ChannelMap([standing], unreachable=True), {"uah": account(test_project=True)})
    assert move.name == "uah"
    assert find_project_moves(ChannelMap([standing], unreachable=True), {"uah": account()}) == []


def test_a_channel_that_is_gone_may_have_another_name_now() -> None:
    ukraine, poland = Channel("ukraine", "У", "UAH", active=True), Channel("pl", "P", "PLN", active=True)
    standings = match_channels([UAH, ukraine, poland], {"gone": account(), "uah": account()})
    assert successors(ChannelMap(standings, unreachable=False)) == {"gone": ["ukraine"]}


def test_slugs() -> None:
    assert is_slug("default-channel")
    assert not is_slug("Default Channel")
    assert not is_slug("")
    assert not is_slug("канал")
