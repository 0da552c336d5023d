"""Views for notebooks: live with ``mixnet[widgets]``, pages and pictures everywhere else."""

from mixnet.widgets.array import ArrayView as ArrayView
from mixnet.widgets.view import View as View
