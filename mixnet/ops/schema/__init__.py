"""The schema of an operator: attributes, ranges, storage types, randomness."""
