"""Programs: cached by structure, interpreted or compiled, with reused buffers."""
