"""Names of merchant accounts: no two of one Saleor are the same to people."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.store.tables import Installation, MerchantAccount


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
    others = (await session.exec(query.order_by(col(MerchantAccount.created_at), col(MerchantAccount.id)))).all()
    return next((other for other in others if other.name.casefold() == str(name).casefold()), None)
