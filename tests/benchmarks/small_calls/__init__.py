"""The time of small common calls, compared with the real MXNet."""
