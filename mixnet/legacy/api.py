"""``mx.api``: empty, as in MXNet 1.9.1, which reserves the name."""
