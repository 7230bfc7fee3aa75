"""faster-whisper from PyPI, unmodified, on the module that stands in for ctranslate2: the results that it has on CTranslate2
4.8.5, recorded by programs/faster_whisper_calls.py in tests/fixtures/speech/ctranslate2/faster_whisper.json."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, long_test

FIXTURES = ROOT / "tests/fixtures/speech"
HERE = Path(__file__).parent
PACKAGES = Path(sys.prefix).parent / "faster-whisper"


def install():
    """Installs faster-whisper once, or skips the test without a network."""
    list_file = HERE / "requirements_faster_whisper.txt"
    marker = PACKAGES / list_file.name
    if marker.exists() and marker.read_text() == list_file.read_text():
        return
    shutil.rmtree(PACKAGES, ignore_errors=True)
    found = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary=:all:",
                            "--target", str(PACKAGES), "--requirement", str(list_file)], capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip(f"faster-whisper cannot be installed: {found.stderr[-300:]}")
    shutil.copy(list_file, marker)


def compare(found, expected, where=""):
    """Times may differ by one position of the encoder, other numbers by rounding."""
    if isinstance(expected, float):
        assert found == pytest.approx(expected, abs=0.021 if "times" in where or "words" in where else 2e-4), where
    elif isinstance(expected, (list, dict)):
        assert len(found) == len(expected), where
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            compare(found[key], expected[key], f"{where}/{key}")
    else:
        assert found == expected, where


@long_test
def test_recorded(tmp_path):
    install()
    for name in ("model.bin", "config.json", "vocabulary.json"):
        shutil.copy(FIXTURES / "ctranslate2" / name, tmp_path)
    shutil.copy(FIXTURES / "tiny/tokenizer.json", tmp_path)
    found = subprocess.run([sys.executable, str(HERE / "programs/faster_whisper_calls.py"), str(tmp_path)], capture_output=True,
                           text=True, env={**os.environ, "PYTHONPATH": str(PACKAGES)})
    assert found.returncode == 0, found.stderr
    compare(json.loads(found.stdout), json.loads((FIXTURES / "ctranslate2/faster_whisper.json").read_text()))
