"""Where the module that stands in for ctranslate2 is: python -m clformer.ctranslate2 --path."""

from __future__ import annotations

import importlib.util
import os
import sys


def main() -> int:
    """Prints the folder that contains the module, to be put first in PYTHONPATH."""
    if sys.argv[1:] != ["--path"]:
        print("usage: python -m clformer.ctranslate2 --path", file=sys.stderr)
        return 2
    found = importlib.util.find_spec("clformer_ctranslate2")
    if found is None or found.origin is None:
        print('the module is not installed; run: pip install "clformer[ctranslate2]"', file=sys.stderr)
        return 1
    print(os.path.join(os.path.dirname(found.origin), "path"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
