"""Commands: ``python -m mixnet.tools.<name>``."""
