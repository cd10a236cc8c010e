"""What shoppers see of the app: the page behind a payment link, the one they come back to, and QR images.

Presentation only. What is known of a payment comes from a callable; nothing that stands in a returning browser's
address is ever believed.
"""
