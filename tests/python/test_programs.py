"""Programs from PyPI, unmodified, on the module that stands in for ctranslate2: the results that they have on CTranslate2 4.8.5,
recorded in tests/fixtures/programs by running this file with the arguments PYTHON NAME..."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, install_packages, long_test

FIXTURES = ROOT / "tests/fixtures"
HERE = Path(__file__).parent
# The packages of each program, and whether it reads Argos packages.
PROGRAMS = {
    "faster_whisper": ("programs", False), "whisperx": ("programs", False), "whisper_ctranslate2": ("programs", False),
    "wyoming": ("programs", False), "argos": ("programs", True), "libretranslate": ("libretranslate", True),
}


def make_folder(folder, is_argos):
    """Makes the folder that a program gets: a Whisper model, or packages of Argos Translate."""
    if is_argos:
        with zipfile.ZipFile(FIXTURES / "programs/en_pt.argosmodel") as archive:
            archive.extractall(folder / "packages")
        return
    for name in ("model.bin", "config.json", "vocabulary.json"):
        shutil.copy(FIXTURES / "speech/ctranslate2" / name, folder)
    shutil.copy(FIXTURES / "speech/tiny/tokenizer.json", folder)


def compare(found, expected, where=""):
    """Times may differ by one position of the encoder, other numbers by rounding."""
    if isinstance(expected, float):
        assert found == pytest.approx(expected, abs=0.021 if "times" in where or "words" in where else 5e-4), where
    elif isinstance(expected, (list, dict)):
        assert len(found) == len(expected), where
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            compare(found[key], expected[key], f"{where}/{key}")
    else:
        assert found == expected, where


@long_test
@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded(name, tmp_path):
    packages, is_argos = PROGRAMS[name]
    make_folder(tmp_path, is_argos)
    done = subprocess.run([sys.executable, HERE / f"programs/{name}_calls.py", tmp_path], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(install_packages(packages))})
    assert done.returncode == 0, done.stderr[-3000:]
    expected = json.loads((FIXTURES / f"programs/{name}.json").read_text())
    compare(json.loads(done.stdout.splitlines()[-1]), expected)


if __name__ == "__main__":  # records results: test_programs.py PYTHON NAME..., where PYTHON has CTranslate2 and the programs
    import tempfile

    for name in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as work:
            make_folder(Path(work), PROGRAMS[name][1])
            done = subprocess.run([sys.argv[1], HERE / f"programs/{name}_calls.py", work], capture_output=True, text=True, check=True)
        (FIXTURES / f"programs/{name}.json").write_text(done.stdout.splitlines()[-1] + "\n")
