"""The payment app: Saleor's transaction webhooks on one side, the payment gateway on the other, a database between."""

DISTRIBUTION = "saleor-gateway"
"""The name of the installed command and of the package; the package's version is the app's."""
