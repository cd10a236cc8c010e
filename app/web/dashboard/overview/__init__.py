"""The first page that staff see: how the store's payments are doing."""
