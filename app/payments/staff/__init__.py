"""How people see payments: found, where they stand, what happened and what is waited for."""
