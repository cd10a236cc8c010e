"""The pages that staff see inside the Saleor Dashboard's iframe: their store's payments, and the app's setup."""
