"""What small common calls cost, beside the real MXNet."""
