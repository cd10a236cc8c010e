"""Pages that list the tests which show what they claim: the laws of money, the threats, the faults."""
