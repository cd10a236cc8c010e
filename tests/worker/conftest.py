from tests.payments.shop_fixtures import gateway, paid, shop

__all__ = ["gateway", "paid", "shop"]
