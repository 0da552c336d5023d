"""EngineTimeline: when each task ran, and what it waited for."""

from mixnet.widgets.timeline.view import EngineTimeline as EngineTimeline
