"""mx.contrib.amp: training and prediction in mixed precision."""

from mixnet.contrib.amp import amp as amp
from mixnet.contrib.amp import lists as lists
from mixnet.contrib.amp import loss_scaler as loss_scaler
from mixnet.contrib.amp.amp import convert_hybrid_block as convert_hybrid_block
from mixnet.contrib.amp.amp import convert_model as convert_model
from mixnet.contrib.amp.amp import convert_symbol as convert_symbol
from mixnet.contrib.amp.amp import init as init
from mixnet.contrib.amp.amp import init_trainer as init_trainer
from mixnet.contrib.amp.amp import list_conditional_fp32_ops as list_conditional_fp32_ops
from mixnet.contrib.amp.amp import list_fp32_ops as list_fp32_ops
from mixnet.contrib.amp.amp import list_loss_output_functions as list_loss_output_functions
from mixnet.contrib.amp.amp import list_lp16_fp32_ops as list_lp16_fp32_ops
from mixnet.contrib.amp.amp import list_lp16_ops as list_lp16_ops
from mixnet.contrib.amp.amp import list_lp16_use_fp32_params as list_lp16_use_fp32_params
from mixnet.contrib.amp.amp import list_widest_type_cast as list_widest_type_cast
from mixnet.contrib.amp.amp import scale_loss as scale_loss
from mixnet.contrib.amp.amp import unscale as unscale
