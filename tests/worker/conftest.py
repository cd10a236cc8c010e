from tests.payments.shop_fixtures import gateway, paid_shop, reserved_shop, second_process, shop

__all__ = ["gateway", "paid_shop", "reserved_shop", "second_process", "shop"]
