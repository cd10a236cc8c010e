"""Which account takes a channel's money, and how a route follows its channel when staff rename it in Saleor."""

from collections.abc import Mapping, Sequence

from sqlalchemy import and_, case, func, not_, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

from app.core.ids import PaymentRowId
from app.core.vocabulary import SUBSCRIPTION_CANCELED, PaymentStatus
from app.store.tables import ChannelRoute, MerchantAccount, Payment


def select_route(
    installation_id: int, channel: str, channel_id: str | None
) -> Select[MerchantAccount, str, str | None]:
    """Return the query for a channel's account, and the slug and the id by which its route knows the channel."""
    by_slug, by_id = col(ChannelRoute.channel) == channel, col(ChannelRoute.channel_id) == channel_id
    of_nobody_else = and_(by_slug, col(ChannelRoute.channel_id).is_(None))  # staff may have mapped the new slug
    return (
        select(MerchantAccount, col(ChannelRoute.channel), col(ChannelRoute.channel_id))
        .join(ChannelRoute, col(ChannelRoute.account_id) == col(MerchantAccount.id))
        .where(ChannelRoute.installation_id == installation_id, or_(by_slug, by_id) if channel_id else by_slug)
        .order_by(case((of_nobody_else, 0), (by_id, 1), else_=2), col(ChannelRoute.id))
        .limit(1)
    )


async def payment_ids_of_test_projects(
    session: AsyncSession, installation_id: int, channel: str, account_id: str | None
) -> Sequence[PaymentRowId]:
    """Return the row ids of payments of a channel in test projects that can be paid, or go on to be.

    The latter: their order may yet be placed, or their subscription is charged. Newest first. A payment keeps the slug
    that its channel had. So those that ``account_id``, to which the channel's money went, has taken under a slug that
    no channel has any more are the channel's too.
    """
    routed = select(ChannelRoute.channel).where(ChannelRoute.installation_id == installation_id)
    has_no_slug_now = and_(col(Payment.channel) != "", col(Payment.channel).not_in(routed))  # trials have no channel
    was_renamed = and_(col(Payment.account_id) == account_id, has_no_slug_now)
    paid = col(Payment.status).in_((PaymentStatus.AUTHORIZED, PaymentStatus.PAID))
    has_ended = func.coalesce(col(Payment.recurring_status), "") == SUBSCRIPTION_CANCELED
    query = (
        select(Payment.id)
        .join(MerchantAccount, col(MerchantAccount.id) == col(Payment.account_id))
        .where(
            Payment.installation_id == installation_id,
            or_(col(Payment.channel) == channel, was_renamed),
            col(MerchantAccount.test_project),
            or_(
                col(Payment.status) == PaymentStatus.PENDING,
                and_(paid, col(Payment.order_number).is_(None)),
                and_(col(Payment.recurring_id).is_not(None), not_(has_ended)),
            ),
        )
        .order_by(col(Payment.created_at).desc(), col(Payment.id).desc())
    )
    return [PaymentRowId(payment_id) for payment_id in (await session.exec(query)).all() if payment_id is not None]


def find_route_changes(
    routes: Sequence[ChannelRoute], slugs: Mapping[str, str], *, all_known: bool
) -> list[tuple[ChannelRoute, str, str | None]]:
    """Return the routes to be changed, each with the slug and the id that it should have."""
    wanted = [(route, *_follow(route, slugs, all_known=all_known)) for route in routes]
    changes: list[tuple[ChannelRoute, str, str | None]] = []
    for route, slug, channel_id in wanted:
        competing = [other for other, its_slug, _ in wanted if its_slug == slug and other is not route]
        final = (slug, channel_id)
        if competing and slug != route.channel:
            mapped_anew = any(other.channel == slug and other.channel_id is None for other in competing)
            final = (route.channel, None if mapped_anew else route.channel_id)
        elif competing and route.channel_id is not None:
            final = (slug, route.channel_id)
        if final != (route.channel, route.channel_id):
            changes.append((route, *final))
    return changes


def _follow(route: ChannelRoute, slugs: Mapping[str, str], *, all_known: bool) -> tuple[str, str | None]:
    """Return the slug and the id that a route should have if no other has that slug."""
    known_as = route.channel_id
    if known_as is not None and known_as in slugs:
        return slugs[known_as], known_as
    if known_as is None or all_known:
        known_as = next((channel_id for channel_id, slug in slugs.items() if slug == route.channel), known_as)
    return route.channel, known_as
