"""What an option of a merchant account is: how it is entered, and what it may be. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from app.i18n.messages import LazyMessage
from app.store.tables import MerchantAccount

PCI_DSS_CONFIRMED = "pci_dss_confirmed"


class Form(Enum):
    """How an option is entered: a text, one of several choices, several texts or lines, a whole number, a decimal
    number, an amount of money, or yes and no.
    """

    TEXT = auto()
    CHOICE = auto()
    TEXTS = auto()
    LINES = auto()
    NUMBER = auto()
    DECIMAL = auto()
    AMOUNT = auto()
    SWITCH = auto()


_ONE_OF = LazyMessage("Choose one of the available options.")


_GATEWAYS_DEFAULT = LazyMessage("The gateway’s default")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of an account. ``name`` is the column that holds it, ``help`` one line on what it does.

    ``rule`` is the message for a value that it cannot have. ``read`` parses one text into the column's value, and
    raises ValueError; an amount is parsed in the account's first currency instead. ``choices``: each value with its
    label. ``may_be_empty``: an empty text resets the option to its default, which is called ``empty`` where it is one
    of several choices. ``needs_one``, ``most``: how many of several texts must and may be given.
    """

    name: str
    title: LazyMessage
    help: LazyMessage
    form: Form = Form.TEXT
    rule: LazyMessage = _ONE_OF
    read: Callable[[str], object] = str
    choices: Mapping[str, LazyMessage] = field(default_factory=dict)
    may_be_empty: bool = False
    needs_one: bool = False
    most: int | None = None
    empty: LazyMessage = _GATEWAYS_DEFAULT

    @property
    def several(self) -> bool:
        """True for an option that is a list of texts."""
        return self.form in (Form.TEXTS, Form.LINES)

    def value_in(self, account: MerchantAccount) -> object:
        """Return the option's value in an account."""
        if self.name == PCI_DSS_CONFIRMED:
            return account.pci_dss_confirmed_at is not None
        return getattr(account, self.name)
