"""The only use of JAX's private interfaces: one function for each.

Each function says what stands in where another JAX has it no longer; ``tests/private_jax`` says which
fact a new JAX has changed. Modules here import JAX's private ones when they are first needed: the
scheduler of a job starts before JAX is loaded.
"""
