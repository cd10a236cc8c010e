"""How it is told that something typed into a form of setting up cannot be, in the reader's language."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.dashboard.set_up.forms import rule_of
from app.dashboard.staff import Staff, refused
from app.db.vault import VaultError
from app.i18n.messages import Joined, LazyMessage, Value, gettext_noop
from app.payments.accounts.keeping import KeysNeededError, NameTakenError, NotTakenError, WalletNotTakenError
from app.payments.accounts.option_values import OptionsRefusedError

_NAME_TAKEN = gettext_noop("Another account of this store has that name already. Give this one another.")
_KEYS_NEEDED = gettext_noop(
    "Type all three keys again. The app sends them to the address that you change, so whoever changes it must know "
    "them."
)
_TYPE_AGAIN = gettext_noop("Type it again.")
_SEALED = gettext_noop(
    "The keys of this account cannot be opened: the secret key file lacks the key. Tell whoever runs the app."
)


@contextmanager
def refusals_told(staff: Staff) -> Iterator[None]:
    """Turn what the functions that keep accounts refuse into an answer for ``staff``."""
    language = staff.translation
    try:
        yield
    except OptionsRefusedError as refusal:
        # What was typed is not repeated: it can be a secret.
        rules = {name: rule_of(name) for name in refusal.refused}
        told = [LazyMessage("%(title)s: %(rule)s", title=title, rule=rule) for title, rule in rules.values()]
        fields = {name: rule for name, (_, rule) in rules.items()}
        raise refused(422, "INVALID_OPTION", language, Joined(tuple(told), by=" "), fields=fields) from refusal
    except NameTakenError as taken:
        raise refused(409, "NAME_TAKEN", language, _NAME_TAKEN, fields={"name": _NAME_TAKEN}) from taken
    except KeysNeededError as needed:
        again = dict.fromkeys(needed.missing, _TYPE_AGAIN)
        raise refused(422, "KEYS_NEEDED", language, _KEYS_NEEDED, fields=again) from needed
    except NotTakenError as error:
        raise not_saved(staff, error.wrong.what.name, error.wrong.words) from error
    except WalletNotTakenError as error:
        why = error.finding.why or error.finding.access
        raise not_saved(staff, "WALLET_NOT_TAKEN", why, field=error.option) from error
    except VaultError as error:
        raise refused(409, "SEALED", language, _SEALED) from error


def not_saved(staff: Staff, code: str, why: Value, *, field: str | None = None) -> Exception:
    """Return the refusal of something that was not saved for that reason."""
    words = LazyMessage("Nothing was saved: %(why)s", why=why)
    return refused(422, code, staff.translation, words, fields={field: words} if field else {})
