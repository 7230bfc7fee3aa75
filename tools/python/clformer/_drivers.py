"""Finds the CPU driver of `pip install clformer[cpu]`.

Intel's packages install libintelocl.so in sys.prefix/lib. Their .icd files hold a placeholder instead of this path, and no
OpenCL loader searches a virtual environment, so the loader gets a folder with correct files. The folder also links the
.icd files of the system: $OCL_ICD_VENDORS replaces the system's folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zlib
from pathlib import Path

SYSTEM = Path("/etc/OpenCL/vendors")


def find() -> None:
    """Sets OCL_ICD_VENDORS if it is unset and Intel's driver is installed in this environment."""
    driver = Path(sys.prefix) / "lib" / "libintelocl.so"
    if "OCL_ICD_VENDORS" in os.environ or not driver.exists():
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clformer"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        folder = make_folder(cache, driver)
    except OSError:  # for example a read-only home folder
        folder = make_folder(Path(tempfile.mkdtemp(prefix="clformer-")), driver)
    os.environ["OCL_ICD_VENDORS"] = str(folder)


def make_folder(cache: Path, driver: Path) -> Path:
    """Returns a folder with the .icd files of the system and one for the driver."""
    files = {path.name: path.read_text() for path in sorted(SYSTEM.glob("*.icd"))}
    files["clformer-intel.icd"] = f"{driver}\n"
    folder = cache / "icd" / f"{zlib.crc32(repr(files).encode()):08x}"
    if not folder.exists():
        parent = cache / "icd"
        parent.mkdir(exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=parent))
        for name, content in files.items():
            (new / name).write_text(content)
        try:
            new.rename(folder)  # atomic: another process may do the same
        except OSError:
            if not folder.exists():
                raise
    return folder
