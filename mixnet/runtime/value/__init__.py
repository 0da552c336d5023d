"""What arrays hold: values, their specs and devices, the state of a thread, what is counted."""
