from hypothesis import settings

from tests.payments.doors import shop, till

__all__ = ["shop", "till"]

# How long one example takes says more about the machine than about the code.
settings.register_profile("without-deadline", deadline=None)
settings.load_profile("without-deadline")
