"""Stories that are told in every run: what chance seldom finds, and what was told wrongly once. By name."""

from decimal import Decimal

from tests.chaos.story import (
    TOTAL,
    AppIs,
    AskAtOnce,
    Asks,
    AsksAgain,
    Begins,
    CatchesUp,
    ComesBack,
    Confirms,
    Decides,
    Disputes,
    Ending,
    Keys,
    Letter,
    NextCall,
    NextWebhook,
    Passes,
    Pays,
    PlaysBack,
    Portal,
    Post,
    Restarts,
    SaleorIs,
    SaleorMoves,
    Step,
    Story,
    Trouble,
    Wants,
    WillEnd,
    Works,
)

TEN, SOME = Decimal("10.00"), Decimal("400.00")
PAID: tuple[Step, ...] = (Begins(), Pays(), Works())
RESERVED: tuple[Step, ...] = (Begins("AUTHORIZATION"), Pays(), Works())
GRANTED = Asks("REFUND", TEN, granted=True)
TAKEN: tuple[Step, ...] = (*RESERVED, Asks("CHARGE"), Works())

ALWAYS: dict[str, Story] = {
    "paid, ordered, and refunded by a granted refund": Story((*PAID, Asks("REFUND", TEN, granted=True))),
    "a proxy swallows the answer to a granted refund, and staff ask again": Story(
        (*PAID, NextWebhook("swallowed"), GRANTED, Works(), Passes(1), AsksAgain(), Works(), Passes(6), AsksAgain())
    ),
    "a proxy swallows the answer to a granted refund, and nobody asks again": Story(
        (*PAID, NextWebhook("swallowed"), GRANTED, Works(), Passes(1), Works())
    ),
    "the answer to a granted refund is lost with its connection, and staff ask again": Story(
        (*PAID, NextWebhook("unheard"), GRANTED, AsksAgain(), Works())
    ),
    "the answer to a granted refund is lost with its connection, and nobody asks again": Story(
        (*PAID, NextWebhook("unheard"), GRANTED, Works())
    ),
    "a granted refund does not arrive, and staff ask again": Story((*PAID, NextWebhook("lost"), GRANTED, AsksAgain())),
    "we die over a granted refund that was made, and staff ask again": Story(
        (*PAID, NextCall(Trouble.WE_DIE_AFTER), GRANTED, AsksAgain(), Works())
    ),
    "we die before a granted refund is made, and staff ask again": Story(
        (*PAID, NextCall(Trouble.WE_DIE_BEFORE), GRANTED, AsksAgain(), Works())
    ),
    "the answer of a granted refund at the gateway is lost, and staff ask again": Story(
        (*PAID, NextCall(Trouble.ANSWER_LOST), GRANTED, AsksAgain(), Works(), AsksAgain())
    ),
    "the notification of a granted refund comes before our answer": Story(
        (*PAID, NextCall(meanwhile=CatchesUp(), late=True), GRANTED, Works())
    ),
    "Saleor reads the answer to a granted refund late": Story(
        (*PAID, NextWebhook("read late", CatchesUp()), GRANTED, Works())
    ),
    "Saleor reads the answer to a slow granted refund late, and it ends meanwhile": Story(
        (*PAID, WillEnd("refund", "2001"), NextWebhook("read late", Passes(3)), GRANTED, CatchesUp(), Works())
    ),
    "a granted refund is refused by the bank, and asked for again": Story(
        (*PAID, WillEnd("refund", "4009"), GRANTED, Works(), AsksAgain(), Works())
    ),
    "a slow granted refund is asked for again and again": Story(
        (*PAID, WillEnd("refund", "2001"), GRANTED, AsksAgain(), NextWebhook("twice"), GRANTED, Decides(), AsksAgain())
    ),
    "a granted refund waits for its turn, and is asked for again": Story(
        (*PAID, NextCall(Trouble.LOST), Asks("REFUND", SOME), NextWebhook("unheard"), GRANTED, AsksAgain(), Works())
    ),
    "two refunds of one moment": Story((*PAID, AskAtOnce(Asks("REFUND", SOME), Asks("REFUND", TEN)), Works())),
    "two refunds of one moment and of one amount": Story((*PAID, AskAtOnce(Asks("REFUND", TEN), Asks("REFUND", TEN)))),
    "two granted refunds of one moment": Story(
        (*PAID, AskAtOnce(Asks("REFUND", SOME, granted=True), GRANTED), Works())
    ),
    "two granted refunds of one moment and of one amount": Story((*PAID, AskAtOnce(GRANTED, GRANTED), Works())),
    "a granted refund and another one of one moment and of one amount": Story(
        (*PAID, AskAtOnce(GRANTED, Asks("REFUND", TEN)), Works())
    ),
    "one granted refund is asked for twice in one moment": Story(
        (*PAID, AskAtOnce(GRANTED, GRANTED, same=True), Works())
    ),
    "a charge and a release of one moment": Story(
        (*RESERVED, AskAtOnce(Asks("CHARGE", SOME), Asks("CANCEL")), Works())
    ),
    "two of one moment, and Saleor reads one answer late": Story(
        (*PAID, NextWebhook("read late", CatchesUp()), AskAtOnce(GRANTED, Asks("REFUND", SOME, granted=True)), Works())
    ),
    "two of one moment, both answers swallowed": Story(
        (
            *PAID,
            NextWebhook("swallowed"),
            NextWebhook("swallowed"),
            AskAtOnce(GRANTED, Asks("REFUND", SOME, granted=True)),
            Works(),
            AsksAgain(),
        )
    ),
    "Saleor moves between payment and refund": Story(
        (*PAID, SaleorMoves(), Asks("REFUND", TEN), SaleorMoves(known=True), Works(), Asks("REFUND", SOME), Works())
    ),
    "Saleor moves while somebody pays, and nobody says so before the end": Story(
        (Begins(), SaleorMoves(), Pays(), Works(), ComesBack(), Begins(), Pays(), Works())
    ),
    "Saleor moves while the answer to a refund is lost, and back again": Story(
        (
            *PAID,
            NextCall(Trouble.ANSWER_LOST),
            Asks("REFUND", TEN),
            SaleorMoves(),
            Works(),
            SaleorMoves(known=True),
            Works(),
            SaleorMoves(),
            SaleorMoves(known=True),
            Asks("REFUND", SOME),
        )
    ),
    "two for one grant in a moment, one answer swallowed": Story(
        (*PAID, NextWebhook("swallowed"), AskAtOnce(GRANTED, GRANTED, same=True)), Ending(letters="lost")
    ),
    "a proxy swallows the answers to a charge and to a refund": Story(
        (
            *RESERVED,
            NextWebhook("swallowed"),
            Asks("CHARGE", SOME),
            NextWebhook("swallowed"),
            Asks("REFUND", TEN),
            Works(),
        )
    ),
    "a proxy swallows the answer to a release": Story((*RESERVED, NextWebhook("swallowed"), Asks("CANCEL"), Works())),
    "the app is inactive, and staff ask for a granted refund": Story(
        (*PAID, AppIs("inactive"), GRANTED, AppIs("active"), AsksAgain(), Works())
    ),
    "the app is made inactive while a refund is under way": Story(
        (*PAID, WillEnd("refund", "2001"), GRANTED, AppIs("inactive"), Decides(), Works(), AppIs("active"), Works())
    ),
    "the app is deleted while a granted refund is under way, and installed again": Story(
        (
            *PAID,
            WillEnd("refund", "2001"),
            GRANTED,
            AppIs("deleted"),
            Decides(),
            Works(),
            AppIs("installed"),
            Works(),
            AsksAgain(),
        )
    ),
    "the app is deleted while somebody pays, and never comes back by itself": Story(
        (Begins(), AppIs("deleted"), Pays(), Works())
    ),
    "we die over the first call, and it was done": Story((NextCall(Trouble.WE_DIE_AFTER), Begins())),
    "the link is lost, and somebody pays all the same": Story((NextCall(Trouble.ANSWER_LOST), Begins(), Pays())),
    "the link is lost, and the shopper asks meanwhile": Story(
        (NextCall(Trouble.ANSWER_LOST, meanwhile=ComesBack()), Begins(), PlaysBack(1), Pays())
    ),
    "the link is lost, and the shopper asks while the page is closed": Story(
        (NextCall(Trouble.ANSWER_LOST), NextCall(meanwhile=ComesBack()), Begins(), PlaysBack(1), Pays())
    ),
    "a cancellation is done, and nobody hears of it": Story((Begins(), NextCall(Trouble.ANSWER_LOST), Asks("CANCEL"))),
    "the shopper pays while staff cancel": Story((Begins(), NextCall(meanwhile=Pays()), Asks("CANCEL"))),
    "the shopper has paid when a cancellation can be sent at last": Story(
        (Begins(), Pays(), NextCall(Trouble.NOT_SENT, meanwhile=Works(1)), Asks("CANCEL"))
    ),
    "the shopper pays when staff have cancelled in vain": Story(
        (Begins(), NextCall(Trouble.WE_DIE_BEFORE), Asks("CANCEL"), Pays())
    ),
    "the closing of a page that was replaced is lost, and asked for again": Story(
        (Begins(), Begins(), NextCall(Trouble.LOST), CatchesUp(), CatchesUp(), Passes(30), CatchesUp())
    ),
    "a refund of unknown outcome, and another one": Story(
        (*PAID, NextCall(Trouble.LOST), Asks("REFUND", TEN), Asks("REFUND", SOME))
    ),
    "two refunds of one amount, the first of unknown outcome": Story(
        (*PAID, NextCall(Trouble.DONE_AND_FAILED), Asks("REFUND", TEN), Asks("REFUND", TEN))
    ),
    "we die over a refund, and the portal makes the same": Story(
        (*PAID, NextCall(Trouble.WE_DIE_AFTER), Asks("REFUND", TEN), Portal("refund", TEN), Passes(1), Works())
    ),
    "a refund while another one is under way": Story(
        (*PAID, NextCall(meanwhile=Asks("REFUND", SOME)), Asks("REFUND", SOME), Works())
    ),
    "a refund is asked for again while it is under way": Story(
        (*PAID, Asks("REFUND", TEN), NextCall(meanwhile=PlaysBack(1)), Asks("REFUND", TEN), PlaysBack(1), PlaysBack(2))
    ),
    "slow refunds, one after the other": Story(
        (*PAID, WillEnd("refund", "2001"), Asks("REFUND", TEN), WillEnd("refund", "2001"), Asks("REFUND", SOME))
    ),
    "the portal takes a part, and we take another": Story(
        (*RESERVED, Post(held=True), Portal("capture", SOME), NextCall(Trouble.WE_DIE_BEFORE), Asks("CHARGE", SOME)),
    ),
    "the portal refunds, and so do we": Story(
        (*TAKEN, Post(held=True), Portal("refund", TEN), NextCall(Trouble.LOST), Asks("REFUND", TEN))
    ),
    "a reservation is voided and taken": Story(
        (*RESERVED, NextCall(Trouble.ANSWER_LOST), Asks("CANCEL"), Asks("CHARGE", SOME))
    ),
    "both doors at once: each refund counts once": Story(
        (
            *PAID,
            NextCall(meanwhile=Wants("refund", SOME)),
            Asks("REFUND", TEN),
            Wants("refund", TEN, twice=True),
            Works(),
        )
    ),
    "we die over what staff want, and they send the form again": Story(
        (*RESERVED, NextCall(Trouble.WE_DIE_AFTER), Wants("capture", SOME, twice=True), Wants("void"), Works())
    ),
    "staff want it cancelled while the shopper pays": Story(
        (Begins(), NextCall(meanwhile=Pays()), Wants("cancel"), Wants("refund", TEN), Works())
    ),
    "the gateway takes the reservation by itself": Story(
        (*RESERVED, Passes(60 * 24), Asks("CHARGE", TEN), Asks("REFUND", TEN)),
        gateway=(("automatic_capture_after", "P1D"),),
    ),
    "the gateway gives the reservation back while we take it": Story(
        (*RESERVED, NextCall(meanwhile=Passes(60 * 24)), Asks("CHARGE", TEN)),
        gateway=(("automatic_void_after", "P1D"),),
    ),
    "3-D Secure is left alone": Story((Begins(), Pays("2122"), ComesBack(), Passes(70))),
    "3-D Secure is failed": Story((Begins(), Pays("2122"), ComesBack(), Confirms(passed=False), ComesBack())),
    "the bank never says what became of it": Story((Begins(), Pays("2201"), ComesBack()), Ending(bank=None)),
    "the bank never says what became of a refund": Story(
        (*PAID, WillEnd("refund", "2201"), Asks("REFUND", TEN), Asks("REFUND", TEN)), Ending(bank=None)
    ),
    "nobody pays": Story((Begins("AUTHORIZATION"), ComesBack(page=True))),
    "notifications come the other way round": Story(
        (*RESERVED, Post(held=True), Asks("CHARGE", SOME), Asks("REFUND", TEN), Letter(3), Letter(3)),
        Ending(letters="newest first"),
    ),
    "Saleor is down, then hears everything twice": Story(
        (
            NextWebhook("twice"),
            *PAID,
            SaleorIs("down", 4),
            NextWebhook("twice"),
            Asks("REFUND", TEN),
            SaleorIs("mute", 2),
        )
    ),
    "Saleor does not hear our answers": Story(
        (NextWebhook("unheard"), *RESERVED, NextWebhook("unheard"), Asks("CHARGE", TEN), SaleorIs("broken"), Works())
    ),
    "begun again with the same key": Story(
        (Begins(), Begins(again=True), NextCall(Trouble.GARBLED), Begins(), Pays(on=1))
    ),
    "paid twice for one checkout": Story(
        (Begins(), Begins("AUTHORIZATION"), Pays(), Pays(on=1), Works(), Asks("REFUND", TOTAL), Asks("CANCEL", on=1))
    ),
    "started anew between all that happens": Story(
        (Begins(), Restarts(), Pays("2119"), Restarts(), Decides(), Asks("REFUND", TEN), Restarts(), Works(1))
    ),
    "a proxy refuses a refund that was made": Story((*PAID, NextCall(Trouble.DONE_AND_PROXY), Asks("REFUND", TEN))),
    "an empty refusal of a refund that was made, and staff ask again": Story(
        (*PAID, NextCall(Trouble.DONE_AND_EMPTY), Asks("REFUND", TEN), Asks("REFUND", TEN))
    ),
    "another API has no such order, and the reservation was taken": Story(
        (*RESERVED, NextCall(Trouble.DONE_AND_OTHER), Asks("CHARGE", SOME), Works())
    ),
    "a reservation is released under 400": Story(
        (*RESERVED, NextCall(Trouble.DONE_UNDER_400), Asks("CANCEL"), Works())
    ),
    "a look-up finds another API": Story(
        (*PAID, NextCall(Trouble.LOST), NextCall(Trouble.DONE_AND_OTHER, look=True), Asks("REFUND", TEN), Works())
    ),
    "the gateway has moved": Story(
        (NextCall(Trouble.MOVED), Begins(), Begins(), NextCall(Trouble.PROXY), Asks("CANCEL"))
    ),
    "the portal refunds in silence, and so do we": Story(
        (*PAID, Portal("refund", TEN, silent=True), NextCall(Trouble.LOST), Asks("REFUND", TEN), Works())
    ),
    "the portal takes a part in silence, and we release": Story(
        (*RESERVED, Portal("capture", SOME, silent=True), Asks("CANCEL"))
    ),
    "the keys do not open while the shopper pays": Story(
        (Begins(), Keys(open=False), Pays(), Works(), Passes(20), Works(), ComesBack(), Keys(open=True))
    ),
    "the keys do not open while a refund is looked up": Story(
        (
            *PAID,
            NextCall(Trouble.LOST),
            Asks("REFUND", TEN),
            Keys(open=False),
            Passes(20),
            Works(),
            Asks("REFUND", TEN),
            Wants("refund", TEN),
            Keys(open=True),
        )
    ),
    "nothing is begun while the keys do not open": Story(
        (Keys(open=False), Begins(), Works(), Keys(open=True), Begins(), Pays())
    ),
    "the payer's bank takes a part back, and staff give another one back": Story(
        (*PAID, Disputes(SOME), Works(), Asks("REFUND", TEN))
    ),
    "all is disputed while staff give a part back": Story(
        (*PAID, NextCall(meanwhile=Disputes(SOME)), Asks("REFUND", SOME), Works(), Disputes(TEN))
    ),
    "a dispute is open, and the store wins": Story(
        (*TAKEN, Disputes(SOME, "2201"), Works(), Asks("REFUND", SOME), Decides(success=False), Works())
    ),
    "a dispute is open, and the store loses": Story((*PAID, Disputes(TEN, "2201"), Works(), Passes(70), Decides())),
}
