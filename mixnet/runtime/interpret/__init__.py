"""Running programs without compiling them, on NumPy or in parts, and deciding when that pays off."""
