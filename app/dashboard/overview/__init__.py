"""What staff see first: how the store's payments do."""
