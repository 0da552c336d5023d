"""The Python process that mixnet lives in: locks, interrupts, asyncio, imports, lines of programs."""
