"""From a graph to a compiled program, and the on-disk cache of programs."""
