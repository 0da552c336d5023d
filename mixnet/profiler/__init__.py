"""``mx.profiler``: what ran when and for how long, as a table and as a Chrome trace."""

import typing

from mixnet.process.lazy import names_later as _names_later
from mixnet.process.lazy import star_names as _star_names
from mixnet.profiler.control import dump as dump
from mixnet.profiler.control import dump_profile as dump_profile
from mixnet.profiler.control import dumps as dumps
from mixnet.profiler.control import pause as pause
from mixnet.profiler.control import profiler_kvstore_handle as profiler_kvstore_handle
from mixnet.profiler.control import profiler_set_config as profiler_set_config
from mixnet.profiler.control import profiler_set_state as profiler_set_state
from mixnet.profiler.control import resume as resume
from mixnet.profiler.control import set_config as set_config
from mixnet.profiler.control import set_kvstore_handle as set_kvstore_handle
from mixnet.profiler.control import set_state as set_state
from mixnet.profiler.control import xla_trace as xla_trace
from mixnet.profiler.objects import Counter as Counter
from mixnet.profiler.objects import Domain as Domain
from mixnet.profiler.objects import Event as Event
from mixnet.profiler.objects import Frame as Frame
from mixnet.profiler.objects import Marker as Marker
from mixnet.profiler.objects import Task as Task
from mixnet.profiler.session import to_dict as to_dict

if typing.TYPE_CHECKING:
    from mixnet.profiler.of_job import dump_all as dump_all


# Knows processes and what joins them; needed only in a job of several.
__getattr__, __dir__ = _names_later(globals(), {"dump_all": "mixnet.profiler.of_job:"})

__all__ = _star_names(globals())
