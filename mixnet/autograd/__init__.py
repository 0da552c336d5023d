"""Automatic differentiation: record, backward, grad, Function."""

from mixnet.autograd.function import Function as Function
from mixnet.autograd.scope import is_recording as is_recording
from mixnet.autograd.scope import is_training as is_training
from mixnet.autograd.scope import pause as pause
from mixnet.autograd.scope import predict_mode as predict_mode
from mixnet.autograd.scope import record as record
from mixnet.autograd.scope import set_recording as set_recording
from mixnet.autograd.scope import set_training as set_training
from mixnet.autograd.scope import train_mode as train_mode
from mixnet.autograd.tape import backward as backward
from mixnet.autograd.tape import grad as grad
from mixnet.autograd.tape import mark_variables as mark_variables
