"""What needs a person: found (``items``) and said (``words``) once, for the Dashboard, the command line and Saleor."""
