"""What a store owner cannot mend on a page: what it means for the store, and the line to send to the operator."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.i18n.messages import LazyMessage
from app.payments.accounts.channels import AccountView
from app.payments.accounts.check import Lack, lacks_of


@dataclass(frozen=True, slots=True)
class OperatorNotice:
    """Something that is whoever runs the app to mend. ``ask`` is what to ask them for, ready to be sent."""

    means: LazyMessage
    ask: LazyMessage


def operator_notices(view: AccountView, *, opens: bool) -> Sequence[OperatorNotice]:
    """Return what of an account is the operator's; ``opens``: whether its keys can be read. Pure."""
    notices = []
    if not opens:
        notices.append(
            OperatorNotice(
                LazyMessage(
                    "The keys of this account cannot be opened: nothing can be asked of the gateway, and no payment "
                    "goes through."
                ),
                LazyMessage(
                    "Please put the line back that is missing in the secret key file (APP_SECRET_KEY_FILE), and "
                    "restart the app: the keys of merchant account %(account)s cannot be opened.",
                    account=view.account.id,
                ),
            )
        )
    if Lack.NOTIFICATIONS in lacks_of(view):
        notices.append(
            OperatorNotice(
                LazyMessage(
                    "The gateway cannot notify %(address)s: it calls public https addresses on port 443 or 8443 only. "
                    "Payments work, but until it can, outcomes are known later, by looking payments up.",
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


def lacks_of_owner(view: AccountView) -> Sequence[Lack]:
    """Return what is missing that a store owner can mend on the pages. Pure."""
    return [each for each in lacks_of(view) if not each.is_operators]
