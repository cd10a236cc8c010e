"""What is recorded of a payout besides its order at the gateway: who requested it, and which card was paid."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from app.store.columns import Moment, partial_index


class Payout(SQLModel, table=True):
    """Money paid out to a card. The request to the gateway, and its outcome, are in its ``Payment``.

    Written in the commit of that payment, and never changed: it is the audit trail. ``asked_by`` and ``confirmed_by``
    are Saleor's names of the members of staff, or an operator's name in a terminal; ``asked_from`` and
    ``confirmed_from`` are the addresses that they came from. ``for_payment_id``: the payment that it is about, if any.
    The recipient is stored, sealed, in the request to the gateway (``personal``).
    """

    __tablename__: ClassVar[Any] = "payout"
    __table_args__ = (
        Index("ix_payout_of_store", "installation_id", "confirmed_at", "payment_id"),
        Index("ix_payout_of_account", "account_id", "confirmed_at"),
        partial_index("for_payment_id IS NOT NULL", "ix_payout_for_payment", "for_payment_id"),
    )

    payment_id: int = Field(foreign_key="payment.id", primary_key=True)
    installation_id: int = Field(foreign_key="installation.id")
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)
    for_payment_id: int | None = Field(default=None, foreign_key="payment.id")
    card_mask: str = Field(max_length=20)
    asked_by: str = Field(max_length=200)
    asked_at: datetime = Field(sa_type=Moment)
    asked_from: str = Field(max_length=45)
    confirmed_by: str = Field(max_length=200)
    confirmed_at: datetime = Field(sa_type=Moment)
    confirmed_from: str = Field(max_length=45)
