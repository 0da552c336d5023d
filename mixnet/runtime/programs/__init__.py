"""Programs: found again by structure, interpreted or compiled, with reused buffers."""
