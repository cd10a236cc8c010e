from tests.payments.doors import shop, till

__all__ = ["shop", "till"]
