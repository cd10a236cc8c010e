"""What a client of an HTTP interface that moves money stands on: exact numbers, bounded requests, named failures, traces."""
