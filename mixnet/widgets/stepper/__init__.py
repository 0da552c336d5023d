"""HybridizeStepper: every stage from a line of Python to what runs."""

from mixnet.widgets.stepper.view import HybridizeStepper as HybridizeStepper
