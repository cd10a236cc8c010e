"""The shopper's pages: the page behind a payment link, the return page, and QR images.

Presentation only. The data of a payment comes from a callable; nothing in the address of a returning browser is ever
trusted.
"""
