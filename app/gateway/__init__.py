"""The client of the payment gateway's interface: requests, records, errors, signature. Knows nothing of Saleor."""
