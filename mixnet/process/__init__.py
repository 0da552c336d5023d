"""The host process: locks, interrupts, asyncio, imports, source lines of programs."""
