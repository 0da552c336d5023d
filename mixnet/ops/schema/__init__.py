"""What an operator declares beside its function: attributes, ranges, storage types, randomness."""
