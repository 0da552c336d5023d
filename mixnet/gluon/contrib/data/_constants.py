"""Tokens that texts end with."""

EOS_TOKEN = "<eos>"
