"""How it is told that something typed into a form of setting up cannot be, in the reader's language."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.dashboard.set_up.forms import rule_of
from app.dashboard.staff import Staff, refused
from app.dashboard.translation import gettext_noop
from app.db.vault import VaultError
from app.payments.accounts.check import Wrong
from app.payments.accounts.keeping import KeysNeededError, NameTakenError, NotTakenError
from app.payments.accounts.options import OptionRefusedError

_NOT_SAVED = gettext_noop("Nothing was saved: %(why)s")
_NOT_RIGHT = gettext_noop("%(title)s: %(rule)s")
_NAME_TAKEN = gettext_noop("Another account of this store has that name already. Give this one another.")
_KEYS_NEEDED = gettext_noop(
    "Type all three keys again. The app sends them to the address that you change, so whoever changes it must know "
    "them."
)
_SEALED = gettext_noop(
    "The keys of this account cannot be opened: the secret key file lacks the key. Tell whoever runs the app."
)


@contextmanager
def refusals_told(staff: Staff) -> Iterator[None]:
    """Turn what the functions that keep accounts refuse into an answer for ``staff``."""
    say = staff.translation
    try:
        yield
    except OptionRefusedError as refusal:
        # What was typed is not repeated: it can be a secret.
        title, rule = rule_of(refusal.name)
        facts = {"title": say.gettext(title), "rule": say.gettext(rule)}
        raise refused(422, "INVALID_OPTION", say, _NOT_RIGHT, field=refusal.name, facts=facts) from refusal
    except NameTakenError as taken:
        raise refused(409, "NAME_TAKEN", say, _NAME_TAKEN, field="name") from taken
    except KeysNeededError as needed:
        raise refused(422, "KEYS_NEEDED", say, _KEYS_NEEDED, field=needed.missing[0]) from needed
    except NotTakenError as error:
        raise not_saved(staff, error.wrong.what.name, in_words(staff, error.wrong)) from error
    except VaultError as error:
        raise refused(409, "SEALED", say, _SEALED) from error


def not_saved(staff: Staff, code: str, why: str, *, field: str | None = None) -> Exception:
    """Return the refusal of something that was not saved for that reason."""
    return refused(422, code, staff.translation, _NOT_SAVED, facts={"why": why}, field=field)


def in_words(staff: Staff, wrong: Wrong) -> str:
    """Return why an account does not work, in the reader's language."""
    return staff.translation.gettext(wrong.what.value) % wrong.facts
