"""What shoppers see of the app: the page they come back to from the gateway, and the payment link as a QR image.

Presentation only. What is known of a payment comes from a callable; nothing that stands in a returning browser's
address is ever believed.
"""
