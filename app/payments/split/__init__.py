"""Payments whose money belongs to several sub-merchants: who gets what, and who gives how much back.

``rules``, ``allocation``, ``remainder`` and ``example`` are pure. Shares are a mapping from the
sub-merchant's UUID to an amount in the payment's currency. They always sum to the amount that they are shares of, to
the last cent, and nobody's share is zero.
"""
