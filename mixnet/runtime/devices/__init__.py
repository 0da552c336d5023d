"""Between devices: sums and copies, meetings, programs in flight, host memory."""
