"""The payment app: Saleor's transaction webhooks on one side, the payment gateway on the other, a database between."""

DISTRIBUTION = "saleor-gateway"
"""What the app is called where it is installed: the command, and the package whose version it has."""
