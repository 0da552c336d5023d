"""EngineTimeline: who ran when, and what waited for what."""

from mixnet.widgets.timeline.view import EngineTimeline as EngineTimeline
