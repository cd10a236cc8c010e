"""The dialect of an account's gateway (``Dialect``): a preset, with what its owner has changed. Pure."""

from dataclasses import fields

from app.core.payment import Account
from gateway_client.dialect import Dialect, PartCapture

_CHANGEABLE = tuple(field.name for field in fields(Dialect) if field.name != "order_3ds_bypass")  # it is sent always


def dialect_of(account: Account) -> Dialect:
    """Return the dialect of an account's gateway."""
    return Dialect.of(account.dialect, {name: getattr(account, name) for name in _CHANGEABLE})


def keeps_rest(account: Account) -> bool:
    """Return True when the rest of a reservation stays reserved after a part of it was captured."""
    return dialect_of(account).part_capture is PartCapture.KEEPS_REST
