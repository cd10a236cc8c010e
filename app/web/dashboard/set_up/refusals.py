"""Converts refusals of setup forms into HTTP errors, in the reader's language."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.flows.accounts.changes import AccountCheckFailedError, KeysRequiredError, WalletNotAllowedError
from app.i18n.messages import Joined, LazyMessage, Value, gettext_noop
from app.rules.accounts.option_values import OptionsRefusedError
from app.store.accounts import NameTakenError
from app.store.vault import VaultError
from app.web.dashboard.set_up.forms import ANYWAY, KEYS, rule_of
from app.web.dashboard.staff import Staff, http_error

_NAME_TAKEN = gettext_noop("Another account of this store already has this name. Choose a different one.")
_KEYS_NEEDED = gettext_noop(
    "Enter all three keys again. The app sends them to the address that you are changing, so you must know them "
    "to change it."
)
_COMPARE = LazyMessage("Compare it with the merchant portal.")
_TYPE_AGAIN = gettext_noop("Enter it again.")
NOT_SAVED = LazyMessage("Nothing was saved. Correct the fields that are marked.")
_SEALED = gettext_noop(
    "The keys of this account cannot be decrypted: the key is missing from the secret key file. Contact the app "
    "operator."
)


@contextmanager
def refusals_as_http_errors(staff: Staff) -> Iterator[None]:
    """Convert the refusals of the functions that store accounts into HTTPExceptions for ``staff``."""
    language = staff.translation
    try:
        yield
    except OptionsRefusedError as refusal:
        # Do not repeat the input: it can be a secret.
        rules = {name: rule_of(name) for name in refusal.refused}
        messages = [LazyMessage("%(title)s: %(rule)s", title=title, rule=rule) for title, rule in rules.values()]
        fields = {name: rule for name, (_, rule) in rules.items()}
        raise http_error(422, "INVALID_OPTION", language, Joined(tuple(messages), by=" "), fields=fields) from refusal
    except NameTakenError as taken:
        raise http_error(409, "NAME_TAKEN", language, _NAME_TAKEN, fields={"name": _NAME_TAKEN}) from taken
    except KeysRequiredError as needed:
        missing_fields = dict.fromkeys(needed.missing, _TYPE_AGAIN)
        raise http_error(422, "KEYS_NEEDED", language, _KEYS_NEEDED, fields=missing_fields) from needed
    except AccountCheckFailedError as error:
        failure = error.failure
        if failure.may_be_wrong:
            raise not_saved_error(staff, failure.what.name, failure.message, field=ANYWAY) from error
        message = LazyMessage("Nothing was saved: %(why)s", why=failure.message)
        fields = dict.fromkeys(("pos_id", *KEYS), _COMPARE)
        raise http_error(422, failure.what.name, language, message, fields=fields) from error
    except WalletNotAllowedError as error:
        why = error.finding.why or error.finding.access
        raise not_saved_error(staff, "WALLET_NOT_TAKEN", why, field=error.option) from error
    except VaultError as error:
        raise http_error(409, "SEALED", language, _SEALED) from error


def not_saved_error(staff: Staff, code: str, why: Value, *, field: str | None = None) -> Exception:
    """Return the error that nothing was saved, for that reason."""
    message = LazyMessage("Nothing was saved: %(why)s", why=why)
    return http_error(422, code, staff.translation, message, fields={field: message} if field else {})
