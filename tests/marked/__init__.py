"""Which tests show what pages of the documentation claim: the laws of money, the threats, the faults."""
