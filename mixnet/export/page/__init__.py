"""A page that runs a network in a browser."""
