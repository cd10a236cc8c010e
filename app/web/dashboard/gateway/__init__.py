"""A store's money at its gateway and the gateway's books: balances, the register."""
