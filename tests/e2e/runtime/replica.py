"""One replica of the Memcached operator, as tests start it: `python replica.py FLAGS...`.

The environment replaces what a pod would provide: `REPLICA` is the host name,
with which the holder of a lease begins; `WATCH_SECONDS` is how long watches last.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import sys

from memcached_operator import wiring
from memcached_operator.__main__ import operator

from olmkit.runtime import process


def main() -> int:
    name = os.environ["REPLICA"]
    socket.gethostname = lambda: name
    seconds = os.environ.get("WATCH_SECONDS")
    if seconds:
        length = (int(seconds), int(seconds))
        wiring.CACHE = dataclasses.replace(wiring.CACHE, watch_seconds=length)
    return process.main(operator())


if __name__ == "__main__":
    sys.exit(main())
