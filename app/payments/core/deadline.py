"""The time that a webhook may take (laws of money, 11). The part that knows Saleor makes it."""

from app.saleor.deadline import Deadline

__all__ = ["Deadline"]
