"""Mistakes that people make, and what they are told."""
