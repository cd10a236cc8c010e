"""What staff see of the app inside the Saleor Dashboard's iframe: their store's payments, or how to set it up."""
