"""Payouts to cards: the list, the form, the review that is confirmed."""
