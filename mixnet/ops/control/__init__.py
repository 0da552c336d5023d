"""Operators that run functions: loops, branches, and operators written in Python."""

from mixnet.ops.control import backend as backend
from mixnet.ops.control import control_flow as control_flow
from mixnet.ops.control import custom as custom
from mixnet.ops.control import custom_function as custom_function
