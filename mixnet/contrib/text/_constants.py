"""The index of the unknown token, and the end-of-text token."""

UNKNOWN_IDX = 0
EOS_TOKEN = "<eos>"
