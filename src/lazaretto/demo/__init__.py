"""A believable day of a small bank: data with known faults, and the suites that find them."""
