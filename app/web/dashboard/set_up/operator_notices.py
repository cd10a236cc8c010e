"""Problems that a store owner cannot fix on a page: what they mean for the store, and the text to send the operator."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.flows.accounts.channels import AccountView
from app.flows.accounts.check import Limitation, find_limitations
from app.i18n.messages import LazyMessage


@dataclass(frozen=True, slots=True)
class OperatorNotice:
    """A problem that only the operator can fix. ``ask`` is the text of the request to them, ready to be sent."""

    means: LazyMessage
    ask: LazyMessage


def operator_notices(view: AccountView, *, opens: bool) -> Sequence[OperatorNotice]:
    """Return the notices of an account for the operator; ``opens``: whether its keys can be read. Pure."""
    notices = []
    if not opens:
        notices.append(
            OperatorNotice(
                LazyMessage(
                    "The keys of this account cannot be decrypted: the app cannot call the gateway, and no "
                    "payment goes through."
                ),
                LazyMessage(
                    "Please restore the missing line in the secret key file (APP_SECRET_KEY_FILE) and restart "
                    "the app: the keys of merchant account %(account)s cannot be decrypted.",
                    account=view.account.id,
                ),
            )
        )
    if Limitation.NOTIFICATIONS in find_limitations(view):
        notices.append(
            OperatorNotice(
                LazyMessage(
                    "The gateway cannot send notifications to %(address)s: it only calls public https addresses "
                    "on port 443 or 8443. Payments work, but until it can, their outcomes are known later, when "
                    "the app looks them up.",
                    address=view.notification_address,
                ),
                LazyMessage(
                    "Please serve the app at a public https address on port 443 or 8443, and set APP_BASE_URL to it: "
                    "the gateway cannot call %(address)s.",
                    address=view.notification_address,
                ),
            )
        )
    return notices


def owner_limitations(view: AccountView) -> Sequence[Limitation]:
    """Return the missing things that a store owner can fix on the pages. Pure."""
    return [limitation for limitation in find_limitations(view) if not limitation.is_for_operator]
