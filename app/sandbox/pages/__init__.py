"""What people see: the payer's checkout, QR and 3-D Secure pages, receipts, and the overview. No JavaScript needed."""
