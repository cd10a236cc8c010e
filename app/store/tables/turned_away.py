"""Shoppers who were turned away before anything was paid, counted."""

from datetime import date, datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Text
from sqlmodel import Field, SQLModel

from app.store.columns import Moment


class TurnedAway(SQLModel, table=True):
    """How often payments were refused in a channel of a store on a day (UTC), for one reason.

    ``code`` is what the storefront got. ``recent``: the newest moments, in ISO 8601, so that it can be told how many
    came after a payment that got through. ``detail`` says what is wrong, for staff. Since ``acknowledged_at``, staff
    have known of it.
    """

    __tablename__: ClassVar[Any] = "turned_away"

    installation_id: int = Field(foreign_key="installation.id", primary_key=True)
    channel: str = Field(primary_key=True, max_length=255)
    code: str = Field(primary_key=True, max_length=40)
    day: date = Field(primary_key=True)
    count: int = Field(default=0)
    first_at: datetime = Field(sa_type=Moment)
    last_at: datetime = Field(sa_type=Moment)
    recent: list[str] = Field(default_factory=list, sa_type=JSON)
    detail: str = Field(default="", sa_type=Text)
    acknowledged_at: datetime | None = Field(default=None, sa_type=Moment)
