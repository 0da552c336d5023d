"""``mx.nd.utils``: creating and saving arrays of any storage type, under MXNet's import path."""

from mixnet.ndarray.create import array as array
from mixnet.ndarray.create import empty as empty
from mixnet.ndarray.create import zeros as zeros
from mixnet.ndarray.params_file import load as load
from mixnet.ndarray.params_file import load_frombuffer as load_frombuffer
from mixnet.ndarray.params_file import save as save

__all__ = ["array", "empty", "load", "load_frombuffer", "save", "zeros"]
