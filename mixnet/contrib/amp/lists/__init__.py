"""Lists of operators by the precision they compute in."""

from mixnet.contrib.amp.lists import symbol_bf16 as symbol_bf16
from mixnet.contrib.amp.lists import symbol_fp16 as symbol_fp16
