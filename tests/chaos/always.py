"""Stories that are told in every run: what chance seldom finds, and what was told wrongly once. By name."""

from decimal import Decimal

from tests.chaos.story import (
    TOTAL,
    Asks,
    Begins,
    ComesBack,
    Confirms,
    Decides,
    Ending,
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
TAKEN: tuple[Step, ...] = (*RESERVED, Asks("CHARGE"), Works())

ALWAYS: dict[str, Story] = {
    "paid, ordered, and refunded by a granted refund": Story((*PAID, Asks("REFUND", TEN, granted=True))),
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
}
