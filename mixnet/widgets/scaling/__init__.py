"""ScalingView: throughput over devices, measured and modelled."""

from mixnet.widgets.scaling.view import ScalingView as ScalingView
