"""python -m clformer, and the script `clformer` of the package: the command."""

import os
import sys

from . import _drivers
from ._library import COMMAND


def main() -> None:
    _drivers.find()
    os.execv(COMMAND, ["clformer", *sys.argv[1:]])


if __name__ == "__main__":
    main()
