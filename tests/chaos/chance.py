"""Hypothesis strategies that generate stories."""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.chaos.story import (
    ActInPortal,
    AddGiftCard,
    BankDecides,
    BeginPayment,
    BreakSaleor,
    CatchUp,
    ChangeTotal,
    Confirm3DSecure,
    DeliverNotification,
    Dispute,
    Ending,
    EndOrder,
    Fault,
    Flow,
    HoldNotifications,
    MoveSaleor,
    NextCall,
    NextWebhook,
    PassTime,
    Pay,
    RenameChannel,
    ReplayWebhook,
    RequestConcurrently,
    RequestGrantAgain,
    RequestInApp,
    RequestInSaleor,
    RestartApp,
    ReturnToShop,
    RunWorker,
    ScriptBankCode,
    SetAppStatus,
    Step,
    Story,
    SwitchKeys,
)

_which = st.sampled_from([0, 0, 0, 1])
_parts = st.sampled_from([Decimal(part) for part in ("10.00", "169.50", "400.00", "569.50")])
_flows: st.SearchStrategy[Flow] = st.sampled_from(["CHARGE", "AUTHORIZATION"])
_asks: st.SearchStrategy[RequestInSaleor] = st.builds(
    RequestInSaleor,
    st.sampled_from(["REFUND", "CHARGE", "CANCEL"]),
    _parts,
    st.sampled_from([False, False, True]),
    _which,
    st.sampled_from([0, 0, 1, 3]),
)
_grants: st.SearchStrategy[RequestInSaleor] = st.builds(
    RequestInSaleor, st.just("REFUND"), _parts, st.just(value=True), st.just(0), st.sampled_from([0, 0, 1, 3])
)
_asks_again: st.SearchStrategy[Step] = st.builds(RequestGrantAgain, _which)
_at_once: st.SearchStrategy[Step] = st.builds(
    RequestConcurrently, st.one_of(_grants, _asks), st.one_of(_grants, _asks), st.sampled_from([False, False, True])
)
_wants: st.SearchStrategy[Step] = st.builds(
    RequestInApp,
    st.sampled_from(["refund", "capture", "void", "cancel"]),
    _parts,
    st.sampled_from([False, False, True]),
    _which,
)
_pays: st.SearchStrategy[Step] = st.builds(
    Pay, st.sampled_from(["1000", "1000", "2122", "2119", "4009", "2201"]), _which
)
_methods = st.sampled_from(["refund", "capture", "void"])
# Mostly on the gateway's page; otherwise with a card that is typed into the storefront.
_cards = st.sampled_from(["", "", "", "1000", "2122", "4009", "2201"])
_begins: st.SearchStrategy[Step] = st.builds(BeginPayment, _flows, st.just(value=False), st.booleans(), _cards)
_totals: st.SearchStrategy[Step] = st.builds(
    ChangeTotal, st.sampled_from([Decimal(total) for total in ("469.50", "569.50", "600.00")])
)
_gift_cards: st.SearchStrategy[Step] = st.builds(AddGiftCard, st.sampled_from([Decimal("100.00"), Decimal("569.50")]))
_begins_again: st.SearchStrategy[Step] = st.builds(
    BeginPayment, _flows, st.just(value=True), st.just(value=False), _cards
)
_quiet: st.SearchStrategy[Step] = st.one_of(
    st.builds(RunWorker, st.sampled_from([1, 5])),
    _asks,
    _wants,
    st.builds(DeliverNotification, st.integers(0, 20)),
    st.builds(ReplayWebhook, st.integers(0, 8)),
    _pays,
    st.builds(ReturnToShop, _which, st.booleans()),
    _begins_again,
    st.builds(ActInPortal, _methods, _parts, _which, st.sampled_from([False, False, True])),
    _asks_again,
    _at_once,
    st.just(CatchUp()),
)
_fates: st.SearchStrategy[Step] = st.builds(
    NextWebhook,
    st.sampled_from(["lost", "unheard", "swallowed", "twice", "read late"]),
    st.one_of(st.none(), _quiet, st.just(CatchUp())),
)
_app_is: st.SearchStrategy[Step] = st.builds(
    SetAppStatus, st.sampled_from(["inactive", "active", "deleted", "installed"])
)
_calls: st.SearchStrategy[Step] = st.builds(
    NextCall,
    fault=st.one_of(st.none(), st.sampled_from(list(Fault))),
    meanwhile=st.one_of(st.none(), _quiet),
    late=st.booleans(),
    look=st.sampled_from([False, False, True]),
)
_rest: st.SearchStrategy[Step] = st.one_of(
    st.builds(Confirm3DSecure, st.sampled_from([True, True, False]), _which),
    st.builds(PassTime, st.sampled_from([1, 3, 20, 70, 60 * 24, 60 * 24 * 8])),
    st.builds(ScriptBankCode, _methods, st.sampled_from(["2001", "2201", "4009"])),
    st.builds(BankDecides, st.booleans()),
    st.builds(Dispute, _parts, st.sampled_from(["1000", "2201"]), _which),
    st.builds(HoldNotifications, st.booleans()),
    st.builds(BreakSaleor, st.sampled_from(["down", "broken", "mute", "odd"]), st.integers(1, 4)),
    _fates,
    _app_is,
    st.builds(EndOrder, st.sampled_from(["CANCELED", "EXPIRED", "RETURNED"])),
    _totals,
    _gift_cards,
    st.just(RenameChannel()),
    st.builds(MoveSaleor, st.booleans()),
    st.builds(BeginPayment, _flows, st.booleans(), st.booleans(), _cards),
    st.just(RestartApp()),
    st.builds(SwitchKeys, st.booleans()),
)
_endings = st.builds(
    Ending, st.sampled_from([True, True, False, None]), st.sampled_from(["lost", "late", "newest first"])
)
_steps = st.one_of(_asks, _calls, _quiet, _rest)


def _beginning(flow: Flow) -> st.SearchStrategy[tuple[Step, ...]]:
    paid: tuple[Step, ...] = (BeginPayment(flow), Pay())
    usual: tuple[Step, ...] = (*paid, RunWorker())
    return st.sampled_from(
        [(BeginPayment(flow),), paid, usual, usual]
        + ([(*usual, RequestInSaleor("CHARGE"), RunWorker())] if flow == "AUTHORIZATION" else [])
    )


def _gateways() -> st.SearchStrategy[tuple[tuple[str, Any], ...]]:
    options = st.sampled_from(
        [
            ("hosted_answer", "json"),
            ("one_operation_answer", "array"),
            ("unknown_order", "empty"),
            ("refusal", "record"),
            ("pending_webhook", False),
            ("cards_per_page", 3),
            ("automatic_capture_after", "P1D"),
            ("automatic_void_after", "P1D"),
        ]
    )
    return st.lists(options, max_size=2, unique_by=lambda option: option[0]).map(tuple)


def granted_refund_stories(longest: int = 10) -> st.SearchStrategy[Story]:
    """Return stories of a paid order: staff grant refunds, request them, and request them again."""
    paid = st.sampled_from(
        [
            (BeginPayment(), Pay(), RunWorker()),
            (BeginPayment("AUTHORIZATION"), Pay(), RunWorker(), RequestInSaleor("CHARGE")),
        ]
    )
    refund = st.one_of(_grants, _at_once, _asks_again)
    time = st.builds(PassTime, st.sampled_from([1, 3, 20, 70]))
    steps = st.one_of(refund, refund, _fates, _calls, st.just(CatchUp()), time, _rest)
    return st.builds(
        lambda beginning, rest, ending, gateway: Story((*beginning, *rest), ending, gateway),
        paid,
        st.lists(steps, min_size=2, max_size=longest),
        _endings,
        _gateways(),
    )


def stories(longest: int = 10) -> st.SearchStrategy[Story]:
    """Return stories of at most so many steps after their beginning."""
    steps = st.one_of(
        # Faults from the first call on: a page is lost, another one is opened in its place, and is lost too.
        st.builds(lambda calls, begins: (*calls, begins), st.lists(_calls, min_size=1, max_size=4), _begins),
        # A gift card or another price, from the first page on.
        st.tuples(st.one_of(_gift_cards, _totals), _begins),
        _flows.flatmap(_beginning),
    )
    return st.builds(
        lambda beginning, rest, ending, gateway: Story((*beginning, *rest), ending, gateway),
        steps,
        st.lists(_steps, min_size=1, max_size=longest),
        _endings,
        _gateways(),
    )
