"""What staff see of the app inside the Saleor Dashboard's iframe: for now, one page that leads through the set-up."""
