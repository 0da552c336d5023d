"""From a graph to a compiled program, and programs on disk."""
