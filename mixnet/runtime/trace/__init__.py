"""Tracing: operations on placeholders become graphs, and graphs run as one operator."""
