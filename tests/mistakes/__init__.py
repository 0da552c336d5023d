"""Common mistakes, and the errors for them."""
