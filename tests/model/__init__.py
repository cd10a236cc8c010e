"""Explores a payment exhaustively, within bounds: every order of messages, every loss, repeat, crash and time-out.

The decisions are the app's own (``app.rules.decisions``), the books of Saleor those of the played Saleor; the
gateway, the app's calls and its worker are small machines here, without a database, a network or a clock.
"""
