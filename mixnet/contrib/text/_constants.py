"""The unknown token's number, and a token that texts end with."""

UNKNOWN_IDX = 0
EOS_TOKEN = "<eos>"
