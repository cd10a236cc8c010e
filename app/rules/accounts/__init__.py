"""The options of a merchant account: names, values, what is accepted."""
