"""The daemon with a watch on its event loop; else the launcher of the whole-program tests, unchanged.

`SOAK_WATCH` is the folder that each life's watch writes its report to.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.e2e import launcher
from tests.soak.watch import Watch


def main() -> int:
    from bot.app.daemon import Daemon

    original = Daemon.live
    watch = Watch(Path(os.environ["SOAK_WATCH"]) / f"{os.getpid()}.json")

    async def live(self: Daemon, greet: Callable[[str], None] | None = None) -> int:
        watch.begin()
        try:
            return await original(self, greet)
        finally:
            watch.write()

    Daemon.live = live  # type: ignore[method-assign]
    return launcher.main()


if __name__ == "__main__":
    sys.exit(main())
