"""What a Saleor has of the app, against this release: permissions, webhooks, and what the Dashboard shows of it.

Saleor reads the app's manifest when it installs it, and never again (``app.saleor.drift``).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta

from app.db.installations import OpenInstallation
from app.doctor.deployment import Deployment
from app.doctor.findings import Finding, Level, Mender, Subject, error, fine, warning
from app.i18n.messages import LazyMessage, gettext_noop
from app.saleor.drift import Aspect, Difference, Part, Remedy, State
from app.saleor.errors import SaleorError
from app.saleor.events import AppDeleted, AppStatusChanged
from app.saleor.migration import ManifestFor, differences

_WITHIN = timedelta(seconds=8)

_SUBJECTS = {
    Part.PERMISSION: Subject.PERMISSIONS,
    Part.WEBHOOK: Subject.WEBHOOKS,
    Part.EXTENSION: Subject.EXTENSIONS,
    Part.ADDRESS: Subject.EXTENSIONS,
}
_FINE = {
    Subject.PERMISSIONS: LazyMessage("The app has the permissions that it needs, and no more."),
    Subject.WEBHOOKS: LazyMessage("The webhooks are this release's."),
    Subject.EXTENSIONS: LazyMessage("The Dashboard shows this release's pages."),
}
_FOUND_OUT_WITHOUT = frozenset({AppDeleted.event_type, AppStatusChanged.event_type})
"""What the app finds out by itself as well, only later."""

_UPDATE = gettext_noop("Run “saleor-gateway installations update --saleor %(saleor)s”.")
_MOVE = gettext_noop(
    "If the app is there now, run “saleor-gateway installations update --saleor %(saleor)s”. If it is not, correct "
    "APP_BASE_URL first."
)
_STAFF = LazyMessage("Change it in the Dashboard: Extensions, the app, its permissions.")
_REINSTALL = LazyMessage("Remove the app in the Dashboard, and install it again: nothing gets lost.")


async def check_drift(
    deployment: Deployment, installation: OpenInstallation, manifest_for: ManifestFor
) -> Sequence[Finding]:
    """Compare what a Saleor has of the app with this release's manifest for it. Nothing is changed."""
    if not installation.verified:
        return []  # that is said of Saleor itself
    try:
        _, found = await differences(deployment.saleor, installation, manifest_for, within=_WITHIN)
    except SaleorError as exc:
        return await _not_told(deployment, installation, exc)
    findings = [_finding(each, installation) for each in found if not _moved(each)]
    findings += _of_another_address(deployment, installation, {each.part for each in found if _moved(each)})
    mended = {each.subject for each in findings if each.level is not Level.FINE}
    return [*(fine(subject, what) for subject, what in _FINE.items() if subject not in mended), *findings]


async def _not_told(deployment: Deployment, installation: OpenInstallation, why: SaleorError) -> Sequence[Finding]:
    """Return that a Saleor did not tell, unless it answers nothing else either: that is said of Saleor itself."""
    try:
        await deployment.saleor.who_am_i(installation.saleor_api_url, installation.token, within=_WITHIN)
    except SaleorError:
        return []
    what = LazyMessage("Saleor does not tell what it has of the app.")
    return [warning(Subject.WEBHOOKS, what, LazyMessage("Try again in a minute."), detail=str(why))]


def _finding(difference: Difference, installation: OpenInstallation) -> Finding:
    return Finding(
        _SUBJECTS[difference.part],
        _level(difference),
        difference.words,
        _remedy(difference.remedy, installation),
        by=Mender.UPDATE if difference.remedy is Remedy.UPDATE else Mender.STORE,
    )


def _moved(difference: Difference) -> bool:
    """Return whether something is as it should be, but for the app's address: that is the same for all."""
    return difference.part is Part.ADDRESS or difference.aspects == (Aspect.ADDRESS,)


def _of_another_address(
    deployment: Deployment, installation: OpenInstallation, parts: AbstractSet[Part]
) -> Sequence[Finding]:
    """Return that the app was somewhere else when it was installed; or is said to be somewhere else by mistake."""
    found = []
    if Part.WEBHOOK in parts:
        what = LazyMessage("Webhooks lead to another address than %(address)s.", address=deployment.base_url)
        remedy = LazyMessage(_MOVE, saleor=installation.saleor_api_url)
        found.append(error(Subject.WEBHOOKS, what, remedy, by=Mender.UPDATE))
    if parts - {Part.WEBHOOK}:
        address = deployment.iframe_base_url or deployment.base_url
        what = LazyMessage("The Dashboard opens the app at another address than %(address)s.", address=address)
        found.append(error(Subject.EXTENSIONS, what, _REINSTALL))
    return found


def _level(difference: Difference) -> Level:
    """Return how bad it is: does something not work, or is there only something too old or too much?"""
    match difference.part, difference.state:
        case Part.WEBHOOK, State.FOREIGN:
            return Level.FINE
        case Part.WEBHOOK, _ if difference.name in _FOUND_OUT_WITHOUT:
            return Level.WARNING
        case ((Part.WEBHOOK | Part.PERMISSION), State.MISSING):
            return Level.ERROR
        case Part.WEBHOOK, State.CHANGED if difference.aspects != (Aspect.QUERY,):
            return Level.ERROR
        case _:
            return Level.WARNING


def _remedy(remedy: Remedy, installation: OpenInstallation) -> LazyMessage | None:
    match remedy:
        case Remedy.UPDATE:
            return LazyMessage(_UPDATE, saleor=installation.saleor_api_url)
        case Remedy.STAFF:
            return _STAFF
        case Remedy.REINSTALL:
            return _REINSTALL
        case Remedy.NOTHING:
            return None
