"""Every sentence of the shopper's pages, in each language. A missing one is a type error, not an empty page."""

from dataclasses import dataclass
from decimal import Decimal

from app.shopper.view import Language, PaymentState

_NO_BREAK_SPACE = "\u00a0"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A heading and what follows it."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Words:
    """All words of one language."""

    states: dict[PaymentState, Sentence]
    still_open: Sentence  # after the last look that the page makes by itself
    no_such_payment: Sentence
    amount: str
    number: str
    back_to_shop: str
    check_again: str
    pay_now: str
    on_the_way: str
    may_close: str
    back_for_another: str
    ask_for_another: str
    pay: str
    pay_by_phone: str
    qr_code: str
    until: str
    too_late: Sentence
    thousands: str
    decimal_point: str


UKRAINIAN = Words(
    states={
        PaymentState.PAID: Sentence("Оплату отримано", "Дякуємо! Далі замовленням займеться магазин."),
        PaymentState.AUTHORISED: Sentence(
            "Суму зарезервовано", "Гроші заблоковано на вашій картці. Магазин спише їх, коли підтвердить замовлення."
        ),
        PaymentState.WAITING: Sentence(
            "Перевіряємо оплату", "Зазвичай це триває кілька секунд. Сторінка оновиться сама."
        ),
        PaymentState.FAILED: Sentence("Оплата не пройшла", "Магазин не отримав грошей."),
        PaymentState.EXPIRED: Sentence("Цей платіж закрито", "Час на оплату минув, або платіж скасовано."),
        PaymentState.UNKNOWN: Sentence(
            "З’ясовуємо, чи пройшла оплата",
            "Платіжна система ще не відповіла. Будь ласка, не платіть удруге. Сторінка оновиться сама.",
        ),
    },
    still_open=Sentence(
        "Відповіді ще немає",
        "Сторінку можна закрити: щойно оплата підтвердиться, магазин дізнається про це сам. "
        "Якщо ви вже заплатили, не платіть удруге.",
    ),
    no_such_payment=Sentence(
        "Такого платежу немає",
        "Можливо, посилання неповне. Відкрийте його ще раз із листа чи з магазину або зверніться до магазину: "
        "він бачить усі оплати вашого замовлення.",
    ),
    amount="Сума",
    number="Номер платежу",
    back_to_shop="Повернутися до магазину",
    check_again="Перевірити ще раз",
    pay_now="Перейти до оплати",
    on_the_way="За кілька секунд ви повернетеся до магазину.",
    may_close="Цю сторінку можна закрити.",
    back_for_another="Щоб заплатити, поверніться до магазину та спробуйте ще раз або оберіть інший спосіб оплати.",
    ask_for_another="Щоб заплатити, попросіть у магазину нове посилання на оплату або оберіть у ньому інший спосіб.",
    pay="Оплата {amount}",
    pay_by_phone="Або наведіть камеру телефона на код.",
    qr_code="QR-код сторінки оплати",
    until="Сплатити до",
    too_late=Sentence(
        "Час на оплату минув",
        "Якщо ви вже заплатили, не платіть удруге: щойно оплата підтвердиться, магазин дізнається про це сам.",
    ),
    thousands=_NO_BREAK_SPACE,
    decimal_point=",",
)

ENGLISH = Words(
    states={
        PaymentState.PAID: Sentence("Payment received", "Thank you! The shop takes it from here."),
        PaymentState.AUTHORISED: Sentence(
            "Amount reserved",
            "The money is blocked on your card. The shop will take it when it confirms your order.",
        ),
        PaymentState.WAITING: Sentence(
            "Checking your payment", "This usually takes a few seconds. The page updates itself."
        ),
        PaymentState.FAILED: Sentence("The payment did not go through", "The shop received no money."),
        PaymentState.EXPIRED: Sentence(
            "This payment is closed", "The time to pay ran out, or the payment was cancelled."
        ),
        PaymentState.UNKNOWN: Sentence(
            "Finding out whether you paid",
            "The payment system has not answered yet. Please do not pay a second time. The page updates itself.",
        ),
    },
    still_open=Sentence(
        "No answer yet",
        "You can close this page: as soon as the payment is confirmed, the shop will be told. "
        "If you have paid, do not pay a second time.",
    ),
    no_such_payment=Sentence(
        "No such payment",
        "The link may be incomplete. Open it again from the e-mail or the shop, or ask the shop: "
        "it sees every payment of your order.",
    ),
    amount="Amount",
    number="Payment number",
    back_to_shop="Back to the shop",
    check_again="Check again",
    pay_now="Go to the payment page",
    on_the_way="You will be taken back to the shop in a few seconds.",
    may_close="You can close this page.",
    back_for_another="To pay, go back to the shop to try again or to choose another way to pay.",
    ask_for_another="To pay, ask the shop for a new payment link or for another way to pay.",
    pay="Pay {amount}",
    pay_by_phone="Or point your phone’s camera at the code.",
    qr_code="QR code of the payment page",
    until="Pay until",
    too_late=Sentence(
        "The time to pay is over",
        "If you have paid, do not pay a second time: as soon as the payment is confirmed, the shop will be told.",
    ),
    thousands=",",
    decimal_point=".",
)

WORDS: dict[Language, Words] = {Language.UKRAINIAN: UKRAINIAN, Language.ENGLISH: ENGLISH}


def money(amount: Decimal, currency: str, language: Language) -> str:
    """An amount with its currency's code, never broken over two lines: `1 234,50 UAH`, `1,234.50 UAH`."""
    words = WORDS[language]
    whole, _, fraction = f"{amount:,.2f}".partition(".")
    return f"{whole.replace(',', words.thousands)}{words.decimal_point}{fraction}{_NO_BREAK_SPACE}{currency}"


def preferred_language(accept_language: str) -> Language:
    """The language for somebody of whom only the browser's `Accept-Language` is known.

    The first one named that we speak, else English. Weights are not read: browsers list what they prefer first.
    """
    for item in accept_language.lower().split(","):
        primary = item.partition(";")[0].strip().partition("-")[0]
        if primary in set(Language):
            return Language(primary)
    return Language.ENGLISH
