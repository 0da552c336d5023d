"""The contents of arrays: values, their specs and devices, per-thread state, counters."""
