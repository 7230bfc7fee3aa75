"""Shared parts of the tests of the Python package."""

import os
import shutil
import subprocess
import sys
import textwrap
import wave
from pathlib import Path

import numpy
import pytest

import clformer
from clformer.command import COMMAND

ROOT = Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "tools/models/fr-en-small")
WHISPER = str(ROOT / "tests/fixtures/speech/tiny")
SMALL = bool(os.environ.get("CLFORMER_TEST_SMALL"))
long_test = pytest.mark.skipif(SMALL, reason="compiles other kernels for ten seconds or more; tools/test --all runs it")
# The shapes of tests/support/digits.c, whose kernels other tests compile too.
CONFIG = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 64,
    "decoder_attention_heads": 2, "decoder_ffn_dim": 64, "max_position_embeddings": 64,
}


@pytest.fixture(scope="session")
def translator():
    with clformer.Translator(MODEL) as translator:
        yield translator


@pytest.fixture(scope="session")
def french():
    return (ROOT / "tests/fixtures/fr-en-small/source.fr").read_text().splitlines()


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A folder with the files of a small training run."""
    monkeypatch.chdir(tmp_path)
    lines = [" ".join(str(i * j % 10) for j in range(1, 3 + i % 5)) for i in range(40)]
    (tmp_path / "a.txt").write_text("".join(line + "\n" for line in lines))
    (tmp_path / "b.txt").write_text("".join(line[::-1] + "\n" for line in lines))
    return tmp_path


def write_wave(path, seconds=2, rate=16000):
    """Writes a recording of a tone that changes."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        time = numpy.arange(seconds * rate)
        file.writeframes((time * time // 500 * 37 % 8000 - 4000).astype("<i2").tobytes())


def install_packages(name):
    """Installs the packages of requirements_NAME.txt once in build/python-NAME, without their dependencies, or skips the test.
    Returns the folder, which belongs in PYTHONPATH."""
    requirements = Path(__file__).parent / f"requirements_{name}.txt"
    folder = Path(sys.prefix).with_name(f"python-{name.replace('_', '-')}")
    copy = folder / requirements.name
    if not copy.exists() or copy.read_text() != requirements.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--prefer-binary",
                               "--target", folder, "--requirement", requirements], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"pip cannot install {requirements.name}: {done.stderr[-500:]}")
        shutil.copy(requirements, copy)
    return folder


def flags_of(verb):
    """Returns the flags of a verb of the command as keyword arguments."""
    text = subprocess.run([COMMAND, verb, "--help"], capture_output=True, text=True, check=True).stdout
    return {line.split("--")[1].split()[0].replace("-", "_") for line in text.splitlines()
            if line.startswith(("      --", "  -")) and "--" in line}


def run_python(code, *arguments, **options):
    """Runs code in another interpreter."""
    words = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)
