"""Seconds until the first result, in fresh processes without programs from before."""
