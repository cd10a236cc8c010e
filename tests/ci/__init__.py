"""What decides whether work lands: a run of the tests in which nothing is red by chance."""
