"""What a difference between a Saleor's copy of the app and this release is called."""

from typing import Any

from app.i18n.messages import Joined, LazyMessage
from saleor_app_sdk.drift import Aspect, Difference, Part, State

_ASPECTS = {
    Aspect.ACTIVE: LazyMessage("it is switched off"),
    Aspect.ADDRESS: LazyMessage("its address"),
    Aspect.EVENTS: LazyMessage("its events"),
    Aspect.QUERY: LazyMessage("its query"),
    Aspect.LABEL: LazyMessage("its label"),
    Aspect.PERMISSIONS: LazyMessage("who can see it"),
}


def difference_message(difference: Difference) -> LazyMessage:  # noqa: PLR0911 - one sentence for each
    """Return the difference as a sentence for people."""
    name, aspects = difference.name, Joined(tuple(_ASPECTS[aspect] for aspect in difference.aspects))
    match difference.part, difference.state:
        case Part.WEBHOOK, State.MISSING:
            return LazyMessage("Saleor does not notify the app of %(event)s: the webhook is missing.", event=name)
        case Part.WEBHOOK, State.CHANGED:
            return LazyMessage("The webhook for %(event)s is outdated: %(aspects)s.", event=name, aspects=aspects)
        case Part.WEBHOOK, State.REPEATED:
            return LazyMessage("Saleor notifies the app of %(event)s twice: there is another webhook.", event=name)
        case Part.WEBHOOK, State.LEFT_OVER:
            return LazyMessage("The webhook for %(event)s is left over: nothing listens there.", event=name)
        case Part.WEBHOOK, _:
            return LazyMessage("Somebody has given the app a webhook that leads to %(address)s.", address=name)
        case Part.EXTENSION, State.MISSING:
            return LazyMessage("The Dashboard does not show the app's “%(name)s”.", name=name)
        case Part.EXTENSION, State.CHANGED:
            return LazyMessage(
                "The Dashboard shows an outdated version of the app's “%(name)s”: %(aspects)s.",
                name=name,
                aspects=aspects,
            )
        case Part.EXTENSION, _:
            return LazyMessage("The Dashboard shows “%(name)s”, which the app does not have.", name=name)
        case Part.PERMISSION, State.MISSING:
            return LazyMessage("The app lacks the permission %(code)s.", code=name)
        case Part.PERMISSION, _:
            return LazyMessage("The app has the permission %(code)s, which it does not need.", code=name)
        case _:
            return LazyMessage("The Dashboard opens the app at an address other than %(address)s.", address=name)


def difference_json(difference: Difference) -> dict[str, Any]:
    """Return the difference as JSON, for scripts."""
    return {**difference.data(), "words": str(difference_message(difference))}
