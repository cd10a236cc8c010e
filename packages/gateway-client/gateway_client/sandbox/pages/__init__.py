"""The pages: the payer's checkout, QR and 3-D Secure pages, receipts, and the overview. They need no JavaScript."""
