"""``python -m mixnet.tools.launch``."""

import sys

from mixnet.tools.launch.command_line import main

sys.exit(main())
