"""Recording: operations become segments, and segments run when a value is needed."""
