"""Running programs on NumPy without a compiler, and when that pays off."""
