"""Describes a column of sealed values, and the place to which each value is bound (``vault``).

Each module declares the sealed columns of its table beside the place; ``sealed_values`` collects all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of sealed values. ``place`` computes the place of a value from the ``place_columns`` of its row.

    ``payment``: the column that refers to the payment of the row, if it has one: writers hold that payment's lock. Then
    ``place_columns`` may be the payment's.
    """

    column: Any
    place_columns: tuple[Any, ...]
    place: Callable[..., str]
    payment: Any = None

    @property
    def row_id(self) -> Any:
        """The primary key of the table."""
        (key,) = self.column.class_.__table__.primary_key.columns
        return key

    def __str__(self) -> str:
        return f"{self.column.class_.__tablename__}.{self.column.key}"
