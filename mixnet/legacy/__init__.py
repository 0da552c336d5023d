"""Modules that exist only for compatibility with MXNet's names."""
