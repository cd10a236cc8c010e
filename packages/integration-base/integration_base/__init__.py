"""What clients of interfaces that move money stand on: exact numbers, bounded requests, named failures, traces."""
