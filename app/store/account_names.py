"""Names of merchant accounts: no two of one Saleor are the same to people."""

from itertools import count

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.text import fit_text
from app.store.tables import Installation, MerchantAccount

_MAX_LENGTH = 100
_MAX_STEM = _MAX_LENGTH - len(" (999)")


async def find_namesake(
    session: AsyncSession, installation_id: int, name: object, except_id: str
) -> MerchantAccount | None:
    """Return another account of that Saleor with this name; None if there is none until this transaction ends.

    Others who name an account of it wait for that. No index can compare names as people do, in every alphabet.
    """
    # Payments, which refer to the row, need not wait.
    store = select(Installation.id).where(Installation.id == installation_id).with_for_update(key_share=True)
    await session.exec(store)
    query = select(MerchantAccount).where(
        MerchantAccount.installation_id == installation_id, MerchantAccount.id != except_id
    )
    others = (await session.exec(query.order_by(col(MerchantAccount.created_at)))).all()
    return next((other for other in others if other.name.casefold() == str(name).casefold()), None)


async def rename_namesakes(session: AsyncSession, kept_id: int, renamed_id: int) -> tuple[str, ...]:
    """Number the accounts of one Saleor that have the name of an account of another, which both become one store.

    Return their new names. Nobody may name an account of either until this transaction ends.
    """
    query = select(MerchantAccount).where(col(MerchantAccount.installation_id).in_((kept_id, renamed_id)))
    accounts = (await session.exec(query.order_by(col(MerchantAccount.created_at)))).all()
    kept = {account.name.casefold() for account in accounts if account.installation_id == kept_id}
    taken, renamed = {account.name.casefold() for account in accounts}, []
    for account in accounts:
        if account.installation_id == renamed_id and account.name.casefold() in kept:
            stem = fit_text(account.name, _MAX_STEM)
            names = (f"{stem} ({number})" for number in count(2))
            account.name = next(name for name in names if name.casefold() not in taken)
            taken.add(account.name.casefold())
            renamed.append(account.name)
    await session.flush()
    return tuple(renamed)
