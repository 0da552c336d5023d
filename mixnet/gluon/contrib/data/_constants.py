"""End-of-text tokens."""

EOS_TOKEN = "<eos>"
