"""The gateway has answered with an account's keys: what was wrong with them, or with its address, is over."""

from app.db.aggregates import PaymentAggregate, payment_of, with_problem
from app.payments.core.problems import (
    ADDRESS,
    ADDRESS_DOUBTED,
    KEYS,
    KEYS_REFUSED,
    NOT_THE_GATEWAY,
    clear,
    open_problems,
)
from app.payments.services import Services


async def keys_accepted(services: Services, account_id: str, aggregate: PaymentAggregate) -> None:
    """End the problems of an account's keys and address: the gateway has just answered with them, for ``aggregate``.

    It, too, has them no more when this returns. The others are looked for now and then only, because this happens at
    every call.
    """
    theirs = {KEYS, ADDRESS}
    here = not theirs.isdisjoint(open_problems(aggregate.payment))
    if not here and not services.gateways.time_to_compare(account_id, services.now()):
        return
    async with services.database.transaction() as session:
        found = await with_problem(session, account_id, KEYS_REFUSED, ADDRESS_DOUBTED, NOT_THE_GATEWAY)
    for payment_id in found:  # each under its own lock and for itself: two locks at once can wait for each other
        async with services.database.transaction() as session:
            payment = await payment_of(session, payment_id)
            for cause in theirs:
                clear(payment, cause)
    for cause in theirs:
        clear(aggregate.payment, cause)
