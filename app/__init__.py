"""The payment app: Saleor's transaction webhooks on one side, the payment gateway on the other, a ledger between."""
