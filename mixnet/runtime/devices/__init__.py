"""Work between several devices, or between the host and a device: sums, copies, meetings, programs in flight,
memory.
"""
