"""Payments split among several sub-merchants: the share of each in payments and refunds.

``rules``, ``allocation``, ``remainder`` and ``example`` are pure. Shares are a mapping from the
sub-merchant's UUID to an amount in the payment's currency. They always sum exactly to the amount that they divide, to
the last cent, and no share is zero.
"""
