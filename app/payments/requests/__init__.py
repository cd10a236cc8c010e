"""What the gateway will be asked, worked out from what Saleor says. Pure; nothing is written yet."""
