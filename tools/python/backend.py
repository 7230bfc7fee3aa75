"""The build backend: scikit-build-core, and source archives that contain the sources of the library."""

import os
import shutil
import tempfile
from pathlib import Path

from scikit_build_core.build import *  # noqa: F401,F403
from scikit_build_core.build import build_sdist as build_archive

SOURCES = ["CMakeLists.txt", "LICENSE", "bench", "cl", "include", "lib", "tools"]
LEFT_OUT = shutil.ignore_patterns("python", "models", "results", "peers", "__pycache__")


def build_sdist(sdist_directory, config_settings=None):
    folder = Path.cwd()
    root = folder / "source" if (folder / "source").exists() else folder.parent.parent
    archive = Path(sdist_directory).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        stage = Path(temporary) / "clformer"
        shutil.copytree(folder, stage, ignore=shutil.ignore_patterns("source", "__pycache__", "*.egg-info"))
        (stage / "source").mkdir()
        for name in SOURCES:
            if (root / name).is_dir():
                shutil.copytree(root / name, stage / "source" / name, ignore=LEFT_OUT)
            else:
                shutil.copy(root / name, stage / "source" / name)
        shutil.copytree(stage, stage / "source/tools/python", ignore=shutil.ignore_patterns("source"))
        os.chdir(stage)
        try:
            return build_archive(str(archive), config_settings)
        finally:
            os.chdir(folder)
