"""Runs LibreTranslate with the Argos packages in a folder: libretranslate_server.py FOLDER PORT

Each text is one sentence: the models that find sentences are not on PyPI, and without them LibreTranslate is faster.
"""
import os
import pathlib
import sys

folder, port = pathlib.Path(sys.argv[1]), sys.argv[2]
os.environ["ARGOS_PACKAGES_DIR"] = str(folder)
for name in ("DATA", "CONFIG", "CACHE"):
    os.environ[f"XDG_{name}_HOME"] = str(folder.parent / "argos-home")

import argostranslate.sbd  # noqa: E402
import libretranslate.init  # noqa: E402
from libretranslate.main import main  # noqa: E402

argostranslate.sbd.MiniSBDSentencizer.split_sentences = lambda self, text: [text]
libretranslate.init.boot = lambda *arguments: None  # would look for packages on the network
os.chdir(folder.parent)  # it writes a database
sys.argv = ["libretranslate", "--host", "127.0.0.1", "--port", port, "--disable-web-ui"]
main()
