"""What a payment is, as plain objects: knows neither the database nor Saleor nor the gateway."""
