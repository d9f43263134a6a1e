"""`mentor-stream up` over stand-ins: python -m tests.supervisor.up CONFIG [COMMAND...].

With a COMMAND every component is that command, else those of components.py.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from mentor_stream.config import Config
from mentor_stream.supervisor.supervise import supervise
from tests.supervisor.components import read_config


def stand_in(command: str, config: Config) -> Sequence[str]:
    given = sys.argv[2:]
    return given or [sys.executable, "-m", "tests.supervisor.components", command, str(config.path)]


if __name__ == "__main__":
    sys.exit(supervise(read_config(Path(sys.argv[1])), stand_in))
