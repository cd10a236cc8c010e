"""Compares a Saleor's copy of the app with this release: permissions, webhooks, and extensions in the Dashboard.

Saleor reads the app's manifest on installation, and never again (``saleor_app_sdk.drift``).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta

from app.i18n.messages import LazyMessage, gettext_noop
from app.ops.doctor.deployment import Deployment
from app.ops.doctor.drift_messages import difference_message
from app.ops.doctor.findings import Finding, FixedBy, Level, Subject, error, fine, warning
from app.store.installations import OpenInstallation
from saleor_app_sdk.drift import Aspect, Difference, Part, Remedy, State
from saleor_app_sdk.errors import SaleorError
from saleor_app_sdk.events import AppDeleted, AppStatusChanged
from saleor_app_sdk.migration import ManifestFor, find_differences

_TIMEOUT = timedelta(seconds=8)

_SUBJECTS = {
    Part.PERMISSION: Subject.PERMISSIONS,
    Part.WEBHOOK: Subject.WEBHOOKS,
    Part.EXTENSION: Subject.EXTENSIONS,
    Part.ADDRESS: Subject.EXTENSIONS,
}
_FINE_MESSAGES = {
    Subject.PERMISSIONS: LazyMessage("The app has the permissions it needs, and no more."),
    Subject.WEBHOOKS: LazyMessage("The webhooks match this release."),
    Subject.EXTENSIONS: LazyMessage("The Dashboard shows this release's pages."),
}
_REDUNDANT_WEBHOOKS = frozenset({AppDeleted.event_type, AppStatusChanged.event_type})
"""Webhooks about facts that the app also detects by itself, only later."""

_UPDATE = gettext_noop("Run “saleor-gateway installations update --saleor %(saleor)s”.")
_MOVE = gettext_noop(
    "If the app now runs there, run “saleor-gateway installations update --saleor %(saleor)s”. If it does not, "
    "correct APP_BASE_URL first."
)
_REINSTALL_MOVED = gettext_noop(
    "If the app now runs there, remove it in the Dashboard, and install it again: nothing is lost. If it does not, "
    "have %(setting)s corrected first."
)
_STAFF = LazyMessage("Change it in the Dashboard: Extensions, the app, its permissions.")
_REINSTALL = LazyMessage("Remove the app in the Dashboard, and install it again: nothing is lost.")


async def check_drift(
    deployment: Deployment, installation: OpenInstallation, manifest_for: ManifestFor
) -> Sequence[Finding]:
    """Compare a Saleor's copy of the app with this release's manifest for it, without changing anything."""
    if not installation.verified:
        return []  # reported by the check of Saleor itself
    try:
        _, found = await find_differences(deployment.saleor, installation, manifest_for, timeout=_TIMEOUT)
    except SaleorError as exc:
        return await _unreadable_findings(deployment, installation, exc)
    findings = [_finding(difference, installation) for difference in found if not _only_address_differs(difference)]
    findings += _address_findings(
        deployment, installation, {difference.part for difference in found if _only_address_differs(difference)}
    )
    flagged = {finding.subject for finding in findings if finding.level is not Level.FINE}
    return [*(fine(subject, what) for subject, what in _FINE_MESSAGES.items() if subject not in flagged), *findings]


async def _unreadable_findings(
    deployment: Deployment, installation: OpenInstallation, why: SaleorError
) -> Sequence[Finding]:
    """Return a finding that the copy cannot be read, unless Saleor is unavailable: its own check reports that."""
    try:
        await deployment.saleor.who_am_i(installation.saleor_api_url, installation.token, timeout=_TIMEOUT)
    except SaleorError:
        return []
    what = LazyMessage("Saleor does not report how the app is set up there.")
    return [warning(Subject.WEBHOOKS, what, LazyMessage("Try again in a minute."), detail=str(why))]


def _finding(difference: Difference, installation: OpenInstallation) -> Finding:
    return Finding(
        _SUBJECTS[difference.part],
        _level(difference),
        difference_message(difference),
        _remedy(difference.remedy, installation),
        by=FixedBy.UPDATE if difference.remedy is Remedy.UPDATE else FixedBy.STORE,
    )


def _only_address_differs(difference: Difference) -> bool:
    """Return whether only the app's address differs, which is reported once for all differences."""
    return difference.part is Part.ADDRESS or difference.aspects == (Aspect.ADDRESS,)


def _address_findings(
    deployment: Deployment, installation: OpenInstallation, parts: AbstractSet[Part]
) -> Sequence[Finding]:
    """Return findings that the app's address has changed since its installation, or is misconfigured."""
    found = []
    if Part.WEBHOOK in parts:
        what = LazyMessage("Webhooks lead to an address other than %(address)s.", address=deployment.base_url)
        remedy = LazyMessage(_MOVE, saleor=installation.saleor_api_url)
        found.append(error(Subject.WEBHOOKS, what, remedy, by=FixedBy.UPDATE))
    if parts - {Part.WEBHOOK}:
        address = deployment.iframe_base_url or deployment.base_url
        what = LazyMessage("The Dashboard opens the app at an address other than %(address)s.", address=address)
        setting = "APP_BASE_URL" if deployment.iframe_base_url is None else "APP_IFRAME_BASE_URL"
        found.append(error(Subject.EXTENSIONS, what, LazyMessage(_REINSTALL_MOVED, setting=setting)))
    return found


def _level(difference: Difference) -> Level:
    """Return the level: an error if something does not work, less if something is only outdated or superfluous."""
    match difference.part, difference.state:
        case Part.WEBHOOK, State.FOREIGN:
            return Level.FINE
        case Part.WEBHOOK, _ if difference.name in _REDUNDANT_WEBHOOKS:
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
