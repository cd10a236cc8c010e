from tests.payments.doors import gateway, paid, shop

__all__ = ["gateway", "paid", "shop"]
