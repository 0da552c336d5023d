"""Between devices: sums and copies, meetings, what is in flight, memory of the host."""
