"""What concerns several devices, or the host and a device: sums, copies, meetings, programs in flight,
memory.
"""
