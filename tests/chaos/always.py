"""Stories that are played in every run, by name: what is seldom generated, and what failed once."""

from decimal import Decimal

from tests.chaos.story import (
    TOTAL,
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

TEN, SOME = Decimal("10.00"), Decimal("400.00")
LESS, MORE = Decimal("469.50"), Decimal("600.00")
CARD = AddGiftCard(TOTAL - LESS)
PAID: tuple[Step, ...] = (BeginPayment(), Pay(), RunWorker())
RESERVED: tuple[Step, ...] = (BeginPayment("AUTHORIZATION"), Pay(), RunWorker())
TWICE: tuple[Step, ...] = (BeginPayment(), BeginPayment(), Pay(), Pay(on=1), RunWorker())
GRANTED = RequestInSaleor("REFUND", TEN, granted=True)
TAKEN: tuple[Step, ...] = (*RESERVED, RequestInSaleor("CHARGE"), RunWorker())

ALWAYS: dict[str, Story] = {
    "a gift card pays a part, and the storefront requests all of it, then the rest": Story(
        (
            CARD,
            BeginPayment(),
            BeginPayment(corrects=True),
            Pay(on=2),
            RunWorker(),
            RequestInSaleor("REFUND", LESS, on=2),
        )
    ),
    "a gift card pays for all, and nothing is left for a page": Story(
        (AddGiftCard(TOTAL), BeginPayment(corrects=True))
    ),
    "a gift card is added while the page is open, and all of it is paid": Story(
        (BeginPayment(), CARD, Pay(), RunWorker(), RequestInSaleor("REFUND", TOTAL - LESS))
    ),
    "the total falls between two pages, and both are paid": Story(
        (BeginPayment(), ChangeTotal(LESS), BeginPayment(), Pay(), Pay(on=1), RunWorker())
    ),
    "paid twice, the total falls, and one is given back": Story(
        (*TWICE, ChangeTotal(LESS), PassTime(70), RunWorker(), RequestInSaleor("REFUND", TOTAL), RunWorker())
    ),
    "paid twice and ordered, the total falls, and one is given back by a granted refund": Story(
        (
            *TWICE,
            GRANTED,
            RunWorker(),
            ChangeTotal(LESS),
            PassTime(1),
            RequestInSaleor("REFUND", TOTAL - TEN, granted=True),
        )
    ),
    "the total falls while a page is opened, and it is paid": Story(
        (NextCall(meanwhile=ChangeTotal(LESS)), BeginPayment(), Pay(), RunWorker())
    ),
    "the total rises while the page is open, and the rest is paid on another": Story(
        (BeginPayment(), ChangeTotal(MORE), Pay(), RunWorker(), BeginPayment(), Pay(on=1), RunWorker())
    ),
    "the total falls while money is authorized, and staff charge what is owed": Story(
        (*RESERVED, ChangeTotal(LESS), RequestInSaleor("CHARGE", LESS), RunWorker())
    ),
    "an order is cancelled while its page is open, and paid": Story(
        (BeginPayment(), EndOrder(), Pay(), RunWorker(), RequestInSaleor("REFUND"))
    ),
    "an order expires while its money is authorized, and staff charge it": Story(
        (*RESERVED, EndOrder("EXPIRED"), RequestInSaleor("CHARGE"), RunWorker())
    ),
    "a channel gets another name between two attempts": Story(
        (BeginPayment(), RenameChannel(), BeginPayment(), Pay(on=1), RunWorker(), RequestInSaleor("REFUND", on=1))
    ),
    "paid, ordered, and refunded by a granted refund": Story((*PAID, RequestInSaleor("REFUND", TEN, granted=True))),
    "a proxy swallows the answer to a granted refund, and staff ask again": Story(
        (
            *PAID,
            NextWebhook("swallowed"),
            GRANTED,
            RunWorker(),
            PassTime(1),
            RequestGrantAgain(),
            RunWorker(),
            PassTime(6),
            RequestGrantAgain(),
        )
    ),
    "a proxy swallows the answer to a granted refund, and nobody asks again": Story(
        (*PAID, NextWebhook("swallowed"), GRANTED, RunWorker(), PassTime(1), RunWorker())
    ),
    "the answer to a granted refund is lost with its connection, and staff ask again": Story(
        (*PAID, NextWebhook("unheard"), GRANTED, RequestGrantAgain(), RunWorker())
    ),
    "the answer to a granted refund is lost with its connection, and nobody asks again": Story(
        (*PAID, NextWebhook("unheard"), GRANTED, RunWorker())
    ),
    "a granted refund does not arrive, and staff ask again": Story(
        (*PAID, NextWebhook("lost"), GRANTED, RequestGrantAgain())
    ),
    "we die over a granted refund that was made, and staff ask again": Story(
        (*PAID, NextCall(Fault.WE_DIE_AFTER), GRANTED, RequestGrantAgain(), RunWorker())
    ),
    "we die before a granted refund is made, and staff ask again": Story(
        (*PAID, NextCall(Fault.WE_DIE_BEFORE), GRANTED, RequestGrantAgain(), RunWorker())
    ),
    "the answer of a granted refund at the gateway is lost, and staff ask again": Story(
        (*PAID, NextCall(Fault.ANSWER_LOST), GRANTED, RequestGrantAgain(), RunWorker(), RequestGrantAgain())
    ),
    "the notification of a granted refund comes before our answer": Story(
        (*PAID, NextCall(meanwhile=CatchUp(), late=True), GRANTED, RunWorker())
    ),
    "Saleor reads the answer to a granted refund late": Story(
        (*PAID, NextWebhook("read late", CatchUp()), GRANTED, RunWorker())
    ),
    "Saleor reads the answer to a slow granted refund late, and it ends meanwhile": Story(
        (
            *PAID,
            ScriptBankCode("refund", "2001"),
            NextWebhook("read late", PassTime(3)),
            GRANTED,
            CatchUp(),
            RunWorker(),
        )
    ),
    "a granted refund is refused by the bank, and asked for again": Story(
        (*PAID, ScriptBankCode("refund", "4009"), GRANTED, RunWorker(), RequestGrantAgain(), RunWorker())
    ),
    "a slow granted refund is asked for again and again": Story(
        (
            *PAID,
            ScriptBankCode("refund", "2001"),
            GRANTED,
            RequestGrantAgain(),
            NextWebhook("twice"),
            GRANTED,
            BankDecides(),
            RequestGrantAgain(),
        )
    ),
    "a granted refund waits for its turn, and is asked for again": Story(
        (
            *PAID,
            NextCall(Fault.LOST),
            RequestInSaleor("REFUND", SOME),
            NextWebhook("unheard"),
            GRANTED,
            RequestGrantAgain(),
            RunWorker(),
        )
    ),
    "two refunds of one moment": Story(
        (*PAID, RequestConcurrently(RequestInSaleor("REFUND", SOME), RequestInSaleor("REFUND", TEN)), RunWorker())
    ),
    "two refunds of one moment and of one amount": Story(
        (*PAID, RequestConcurrently(RequestInSaleor("REFUND", TEN), RequestInSaleor("REFUND", TEN)))
    ),
    "two granted refunds of one moment": Story(
        (*PAID, RequestConcurrently(RequestInSaleor("REFUND", SOME, granted=True), GRANTED), RunWorker())
    ),
    "two granted refunds of one moment and of one amount": Story(
        (*PAID, RequestConcurrently(GRANTED, GRANTED), RunWorker())
    ),
    "a granted refund and another one of one moment and of one amount": Story(
        (*PAID, RequestConcurrently(GRANTED, RequestInSaleor("REFUND", TEN)), RunWorker())
    ),
    "one granted refund is asked for twice in one moment": Story(
        (*PAID, RequestConcurrently(GRANTED, GRANTED, same=True), RunWorker())
    ),
    "one granted refund is asked for twice, one answer is swallowed, and another of its amount fails": Story(
        (
            *PAID,
            NextWebhook("swallowed"),
            RequestConcurrently(GRANTED, GRANTED, same=True),
            NextWebhook("lost"),
            GRANTED,
        )
    ),
    "a charge and a release of one moment": Story(
        (*RESERVED, RequestConcurrently(RequestInSaleor("CHARGE", SOME), RequestInSaleor("CANCEL")), RunWorker())
    ),
    "two of one moment, and Saleor reads one answer late": Story(
        (
            *PAID,
            NextWebhook("read late", CatchUp()),
            RequestConcurrently(GRANTED, RequestInSaleor("REFUND", SOME, granted=True)),
            RunWorker(),
        )
    ),
    "two of one moment, both answers swallowed": Story(
        (
            *PAID,
            NextWebhook("swallowed"),
            NextWebhook("swallowed"),
            RequestConcurrently(GRANTED, RequestInSaleor("REFUND", SOME, granted=True)),
            RunWorker(),
            RequestGrantAgain(),
        )
    ),
    "Saleor moves between payment and refund": Story(
        (
            *PAID,
            MoveSaleor(),
            RequestInSaleor("REFUND", TEN),
            MoveSaleor(known=True),
            RunWorker(),
            RequestInSaleor("REFUND", SOME),
            RunWorker(),
        )
    ),
    "Saleor moves while somebody pays, and nobody says so before the end": Story(
        (BeginPayment(), MoveSaleor(), Pay(), RunWorker(), ReturnToShop(), BeginPayment(), Pay(), RunWorker())
    ),
    "Saleor moves while the answer to a refund is lost, and back again": Story(
        (
            *PAID,
            NextCall(Fault.ANSWER_LOST),
            RequestInSaleor("REFUND", TEN),
            MoveSaleor(),
            RunWorker(),
            MoveSaleor(known=True),
            RunWorker(),
            MoveSaleor(),
            MoveSaleor(known=True),
            RequestInSaleor("REFUND", SOME),
        )
    ),
    "two for one grant in a moment, one answer swallowed": Story(
        (*PAID, NextWebhook("swallowed"), RequestConcurrently(GRANTED, GRANTED, same=True)),
        Ending(notifications="lost"),
    ),
    "a proxy swallows the answers to a charge and to a refund": Story(
        (
            *RESERVED,
            NextWebhook("swallowed"),
            RequestInSaleor("CHARGE", SOME),
            NextWebhook("swallowed"),
            RequestInSaleor("REFUND", TEN),
            RunWorker(),
        )
    ),
    "a proxy swallows the answer to a release": Story(
        (*RESERVED, NextWebhook("swallowed"), RequestInSaleor("CANCEL"), RunWorker())
    ),
    "the app is inactive, and staff ask for a granted refund": Story(
        (*PAID, SetAppStatus("inactive"), GRANTED, SetAppStatus("active"), RequestGrantAgain(), RunWorker())
    ),
    "the app is made inactive while a refund is under way": Story(
        (
            *PAID,
            ScriptBankCode("refund", "2001"),
            GRANTED,
            SetAppStatus("inactive"),
            BankDecides(),
            RunWorker(),
            SetAppStatus("active"),
            RunWorker(),
        )
    ),
    "the app is deleted while a granted refund is under way, and installed again": Story(
        (
            *PAID,
            ScriptBankCode("refund", "2001"),
            GRANTED,
            SetAppStatus("deleted"),
            BankDecides(),
            RunWorker(),
            SetAppStatus("installed"),
            RunWorker(),
            RequestGrantAgain(),
        )
    ),
    "the app is deleted while somebody pays, and never comes back by itself": Story(
        (BeginPayment(), SetAppStatus("deleted"), Pay(), RunWorker())
    ),
    "we die over the first call, and it was done": Story((NextCall(Fault.WE_DIE_AFTER), BeginPayment())),
    "the link is lost, and somebody pays all the same": Story((NextCall(Fault.ANSWER_LOST), BeginPayment(), Pay())),
    "the link is lost, and the shopper asks meanwhile": Story(
        (NextCall(Fault.ANSWER_LOST, meanwhile=ReturnToShop()), BeginPayment(), ReplayWebhook(1), Pay())
    ),
    "the link is lost, and the shopper asks while the page is closed": Story(
        (NextCall(Fault.ANSWER_LOST), NextCall(meanwhile=ReturnToShop()), BeginPayment(), ReplayWebhook(1), Pay())
    ),
    "a cancellation is done, and nobody hears of it": Story(
        (BeginPayment(), NextCall(Fault.ANSWER_LOST), RequestInSaleor("CANCEL"))
    ),
    "the shopper pays while staff cancel": Story(
        (BeginPayment(), NextCall(meanwhile=Pay()), RequestInSaleor("CANCEL"))
    ),
    "the shopper has paid when a cancellation can be sent at last": Story(
        (BeginPayment(), Pay(), NextCall(Fault.NOT_SENT, meanwhile=RunWorker(1)), RequestInSaleor("CANCEL"))
    ),
    "the shopper pays when staff have cancelled in vain": Story(
        (BeginPayment(), NextCall(Fault.WE_DIE_BEFORE), RequestInSaleor("CANCEL"), Pay())
    ),
    "the closing of a page that was replaced is lost, and asked for again": Story(
        (BeginPayment(), BeginPayment(), NextCall(Fault.LOST), CatchUp(), CatchUp(), PassTime(30), CatchUp())
    ),
    "a refund of unknown outcome, and another one": Story(
        (*PAID, NextCall(Fault.LOST), RequestInSaleor("REFUND", TEN), RequestInSaleor("REFUND", SOME))
    ),
    "two refunds of one amount, the first of unknown outcome": Story(
        (*PAID, NextCall(Fault.DONE_AND_FAILED), RequestInSaleor("REFUND", TEN), RequestInSaleor("REFUND", TEN))
    ),
    "we die over a refund, and the portal makes the same": Story(
        (
            *PAID,
            NextCall(Fault.WE_DIE_AFTER),
            RequestInSaleor("REFUND", TEN),
            ActInPortal("refund", TEN),
            PassTime(1),
            RunWorker(),
        )
    ),
    "a refund while another one is under way": Story(
        (*PAID, NextCall(meanwhile=RequestInSaleor("REFUND", SOME)), RequestInSaleor("REFUND", SOME), RunWorker())
    ),
    "a refund is asked for again while it is under way": Story(
        (
            *PAID,
            RequestInSaleor("REFUND", TEN),
            NextCall(meanwhile=ReplayWebhook(1)),
            RequestInSaleor("REFUND", TEN),
            ReplayWebhook(1),
            ReplayWebhook(2),
        )
    ),
    "slow refunds, one after the other": Story(
        (
            *PAID,
            ScriptBankCode("refund", "2001"),
            RequestInSaleor("REFUND", TEN),
            ScriptBankCode("refund", "2001"),
            RequestInSaleor("REFUND", SOME),
        )
    ),
    "the portal takes a part, and we take another": Story(
        (
            *RESERVED,
            HoldNotifications(held=True),
            ActInPortal("capture", SOME),
            NextCall(Fault.WE_DIE_BEFORE),
            RequestInSaleor("CHARGE", SOME),
        ),
    ),
    "the portal refunds, and so do we": Story(
        (
            *TAKEN,
            HoldNotifications(held=True),
            ActInPortal("refund", TEN),
            NextCall(Fault.LOST),
            RequestInSaleor("REFUND", TEN),
        )
    ),
    "a reservation is voided and taken": Story(
        (*RESERVED, NextCall(Fault.ANSWER_LOST), RequestInSaleor("CANCEL"), RequestInSaleor("CHARGE", SOME))
    ),
    "both doors at once: each refund counts once": Story(
        (
            *PAID,
            NextCall(meanwhile=RequestInApp("refund", SOME)),
            RequestInSaleor("REFUND", TEN),
            RequestInApp("refund", TEN, twice=True),
            RunWorker(),
        )
    ),
    "we die over what staff want, and they send the form again": Story(
        (
            *RESERVED,
            NextCall(Fault.WE_DIE_AFTER),
            RequestInApp("capture", SOME, twice=True),
            RequestInApp("void"),
            RunWorker(),
        )
    ),
    "staff want it cancelled while the shopper pays": Story(
        (BeginPayment(), NextCall(meanwhile=Pay()), RequestInApp("cancel"), RequestInApp("refund", TEN), RunWorker())
    ),
    "the gateway takes the reservation by itself": Story(
        (*RESERVED, PassTime(60 * 24), RequestInSaleor("CHARGE", TEN), RequestInSaleor("REFUND", TEN)),
        gateway=(("automatic_capture_after", "P1D"),),
    ),
    "the gateway gives the reservation back while we take it": Story(
        (*RESERVED, NextCall(meanwhile=PassTime(60 * 24)), RequestInSaleor("CHARGE", TEN)),
        gateway=(("automatic_void_after", "P1D"),),
    ),
    "another card is tried on the same page": Story(
        (BeginPayment(), Pay("4009"), CatchUp(), ReturnToShop(), Pay(), CatchUp(), RequestInSaleor("REFUND", TEN)),
        gateway=(("cards_per_page", 2),),
    ),
    "another card is tried, and nobody tells of it": Story(
        (BeginPayment(), Pay("4009"), CatchUp(), Pay()), gateway=(("cards_per_page", 2),)
    ),
    "another card is tried, and the decline is told last": Story(
        (BeginPayment(), HoldNotifications(held=True), Pay("4009"), Pay(), ReturnToShop()),
        Ending(notifications="newest first"),
        gateway=(("cards_per_page", 2),),
    ),
    "another card is tried on the older of two pages": Story(
        (BeginPayment(), Pay("4009"), CatchUp(), BeginPayment(), Pay(on=0), CatchUp(), RunWorker()),
        gateway=(("cards_per_page", 2),),
    ),
    "a card is typed into the storefront": Story(
        (BeginPayment(card="1000"), CatchUp(), ReturnToShop(), RequestInSaleor("REFUND", TEN))
    ),
    "a typed card is declined, and another pays": Story(
        (BeginPayment(card="4009"), ReturnToShop(), BeginPayment(card="1000"), CatchUp())
    ),
    "a typed card is asked for 3-D Secure": Story(
        (BeginPayment("AUTHORIZATION", card="2122"), ReturnToShop(), Confirm3DSecure(), ReturnToShop(), CatchUp())
    ),
    "a typed card pays, and its answer is lost": Story(
        (NextCall(Fault.ANSWER_LOST), BeginPayment(card="1000"), BeginPayment(again=True, card="1000"), CatchUp())
    ),
    "a typed card never arrives, and the shopper types it again": Story(
        (NextCall(Fault.LOST), BeginPayment(card="1000"), BeginPayment(card="1000"), CatchUp())
    ),
    "an order is placed while a typed card is lost on its way": Story(
        (NextCall(Fault.LOST), BeginPayment(card="1000"), RequestInSaleor("REFUND", TEN, granted=True), CatchUp())
    ),
    "we die while a typed card is charged": Story(
        (NextCall(Fault.WE_DIE_AFTER), BeginPayment(card="1000"), RestartApp(), BeginPayment(card="1000"), CatchUp())
    ),
    "a typed card pays beside an open page": Story(
        (BeginPayment(), BeginPayment(card="1000"), Pay(on=0), CatchUp(), ReturnToShop())
    ),
    "a typed card is asked for 3-D Secure, and a page is opened beside it": Story(
        (BeginPayment(card="2122"), BeginPayment(), Pay(on=1), Confirm3DSecure(on=0), CatchUp())
    ),
    "3-D Secure is left alone": Story((BeginPayment(), Pay("2122"), ReturnToShop(), PassTime(70))),
    "3-D Secure is failed": Story(
        (BeginPayment(), Pay("2122"), ReturnToShop(), Confirm3DSecure(passed=False), ReturnToShop())
    ),
    "the bank never says what became of it": Story((BeginPayment(), Pay("2201"), ReturnToShop()), Ending(bank=None)),
    "the bank never says what became of a refund": Story(
        (*PAID, ScriptBankCode("refund", "2201"), RequestInSaleor("REFUND", TEN), RequestInSaleor("REFUND", TEN)),
        Ending(bank=None),
    ),
    "nobody pays": Story((BeginPayment("AUTHORIZATION"), ReturnToShop(page=True))),
    "notifications come the other way round": Story(
        (
            *RESERVED,
            HoldNotifications(held=True),
            RequestInSaleor("CHARGE", SOME),
            RequestInSaleor("REFUND", TEN),
            DeliverNotification(3),
            DeliverNotification(3),
        ),
        Ending(notifications="newest first"),
    ),
    "Saleor is down, then hears everything twice": Story(
        (
            NextWebhook("twice"),
            *PAID,
            BreakSaleor("down", 4),
            NextWebhook("twice"),
            RequestInSaleor("REFUND", TEN),
            BreakSaleor("mute", 2),
            RequestInSaleor("REFUND", TEN),
            BreakSaleor("odd", 2),
        )
    ),
    "Saleor does not hear our answers": Story(
        (
            NextWebhook("unheard"),
            *RESERVED,
            NextWebhook("unheard"),
            RequestInSaleor("CHARGE", TEN),
            BreakSaleor("broken"),
            RunWorker(),
        )
    ),
    "begun again with the same key": Story(
        (BeginPayment(), BeginPayment(again=True), NextCall(Fault.GARBLED), BeginPayment(), Pay(on=1))
    ),
    "paid twice for one checkout": Story(
        (
            BeginPayment(),
            BeginPayment("AUTHORIZATION"),
            Pay(),
            Pay(on=1),
            RunWorker(),
            RequestInSaleor("REFUND", TOTAL),
            RequestInSaleor("CANCEL", on=1),
        )
    ),
    "started anew between all that happens": Story(
        (
            BeginPayment(),
            RestartApp(),
            Pay("2119"),
            RestartApp(),
            BankDecides(),
            RequestInSaleor("REFUND", TEN),
            RestartApp(),
            RunWorker(1),
        )
    ),
    "a proxy refuses a refund that was made": Story(
        (*PAID, NextCall(Fault.DONE_AND_PROXY), RequestInSaleor("REFUND", TEN))
    ),
    "an empty refusal of a refund that was made, and staff ask again": Story(
        (*PAID, NextCall(Fault.DONE_AND_EMPTY), RequestInSaleor("REFUND", TEN), RequestInSaleor("REFUND", TEN))
    ),
    "another API has no such order, and the reservation was taken": Story(
        (*RESERVED, NextCall(Fault.DONE_AND_OTHER), RequestInSaleor("CHARGE", SOME), RunWorker())
    ),
    "a reservation is released under 400": Story(
        (*RESERVED, NextCall(Fault.DONE_UNDER_400), RequestInSaleor("CANCEL"), RunWorker())
    ),
    "a look-up finds another API": Story(
        (
            *PAID,
            NextCall(Fault.LOST),
            NextCall(Fault.DONE_AND_OTHER, look=True),
            RequestInSaleor("REFUND", TEN),
            RunWorker(),
        )
    ),
    "the gateway has moved": Story(
        (NextCall(Fault.MOVED), BeginPayment(), BeginPayment(), NextCall(Fault.PROXY), RequestInSaleor("CANCEL"))
    ),
    "the portal refunds in silence, and so do we": Story(
        (
            *PAID,
            ActInPortal("refund", TEN, silent=True),
            NextCall(Fault.LOST),
            RequestInSaleor("REFUND", TEN),
            RunWorker(),
        )
    ),
    "the portal takes a part in silence, and we release": Story(
        (*RESERVED, ActInPortal("capture", SOME, silent=True), RequestInSaleor("CANCEL"))
    ),
    "the keys do not open while the shopper pays": Story(
        (
            BeginPayment(),
            SwitchKeys(open=False),
            Pay(),
            RunWorker(),
            PassTime(20),
            RunWorker(),
            ReturnToShop(),
            SwitchKeys(open=True),
        )
    ),
    "the keys do not open while a refund is looked up": Story(
        (
            *PAID,
            NextCall(Fault.LOST),
            RequestInSaleor("REFUND", TEN),
            SwitchKeys(open=False),
            PassTime(20),
            RunWorker(),
            RequestInSaleor("REFUND", TEN),
            RequestInApp("refund", TEN),
            SwitchKeys(open=True),
        )
    ),
    "nothing is begun while the keys do not open": Story(
        (SwitchKeys(open=False), BeginPayment(), RunWorker(), SwitchKeys(open=True), BeginPayment(), Pay())
    ),
    "the payer's bank takes a part back, and staff give another one back": Story(
        (*PAID, Dispute(SOME), RunWorker(), RequestInSaleor("REFUND", TEN))
    ),
    "all is disputed while staff give a part back": Story(
        (*PAID, NextCall(meanwhile=Dispute(SOME)), RequestInSaleor("REFUND", SOME), RunWorker(), Dispute(TEN))
    ),
    "a dispute is open, and the store wins": Story(
        (
            *TAKEN,
            Dispute(SOME, "2201"),
            RunWorker(),
            RequestInSaleor("REFUND", SOME),
            BankDecides(success=False),
            RunWorker(),
        )
    ),
    "a dispute is open, and the store loses": Story(
        (*PAID, Dispute(TEN, "2201"), RunWorker(), PassTime(70), BankDecides())
    ),
    "a dispute that the store loses turns, and turns again": Story(
        (
            *PAID,
            Dispute(SOME),
            RunWorker(),
            BankDecides(success=False),
            RunWorker(),
            RequestInSaleor("REFUND", TEN),
            BankDecides(),
            RunWorker(),
        )
    ),
    "the gateway takes a reservation by itself, told newest first, while refunds are granted": Story(
        (
            BeginPayment(flow="AUTHORIZATION"),
            Pay(),
            RunWorker(),
            RequestConcurrently(
                RequestInSaleor("REFUND", SOME, granted=True),
                RequestInSaleor("REFUND", SOME, granted=True),
            ),
        ),
        Ending(bank=None, notifications="newest first"),
        (("pending_webhook", False), ("automatic_capture_after", "P1D")),
    ),
    "a granted refund of what was charged, while no key opens": Story(
        (
            BeginPayment(flow="AUTHORIZATION"),
            Pay(),
            RunWorker(),
            RequestInSaleor("CHARGE", TOTAL),
            SwitchKeys(open=False),
            RequestInSaleor("REFUND", TEN, granted=True),
        ),
        Ending(notifications="lost"),
    ),
    "the turns of a dispute arrive in another order": Story(
        (
            *PAID,
            HoldNotifications(held=True),
            Dispute(SOME),
            BankDecides(success=False),
            DeliverNotification(2),
            DeliverNotification(1),
            RunWorker(),
        )
    ),
    "others refund what they have charged, and only the refund is notified": Story(
        (
            *RESERVED,
            ActInPortal("capture", SOME, silent=True),
            ActInPortal("refund", SOME),
            RunWorker(1),
        )
    ),
}
