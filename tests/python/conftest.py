"""Every test runs with a cache of its own, and without the plugins that the machine's user may have."""

import os

os.environ.setdefault("OSTINATO_PLUGINS", "cpu,ref")
