"""MXNet's random number generators, and how operators draw from them."""
