"""All conversions and rules: importing this module fills both tables."""
