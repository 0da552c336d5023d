"""The only use of JAX's private interfaces: one function for each.

Each function says what replaces a name that a newer JAX has removed; ``tests/private_jax`` shows which
of these facts a new JAX has changed. Modules here import JAX's private ones when they are first needed: the
scheduler of a job starts before JAX is loaded.
"""
