"""What a store has at its gateway, and what the gateway's books say: balances, the register."""
