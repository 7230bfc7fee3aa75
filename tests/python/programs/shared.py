"""Shared by the programs: they import the module ctranslate2 that is the first on the path, and print JSON."""

import json
import os
import re
import sys
import types
import wave

import numpy

os.environ["HF_HUB_OFFLINE"] = "1"
RATE = 16000


def make_audio(seconds):
    """Returns tones that change every second, and noise."""
    time = numpy.arange(seconds * RATE) / RATE
    noise = numpy.random.default_rng(3).uniform(-0.05, 0.05, len(time))
    return (0.3 * numpy.sin(2 * numpy.pi * (200 + 50 * numpy.floor(time)) * time) + noise).astype(numpy.float32)


def write_audio(path, seconds):
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((make_audio(seconds) * 32767).astype("<i2").tobytes())


def use_argos(folder):
    """Selects the packages of Argos Translate in FOLDER/packages, and a home below it; without a model to split sentences."""
    os.environ["ARGOS_PACKAGES_DIR"] = os.path.join(folder, "packages")
    os.environ["ARGOS_DEVICE_TYPE"], os.environ["ARGOS_COMPUTE_TYPE"] = "cpu", "float32"
    home = os.path.join(folder, "home")
    os.makedirs(home, exist_ok=True)
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        os.environ[name] = home
    # Argos Translate imports Stanza, which needs PyTorch, to split sentences; LibreTranslate's edition does not.
    sys.modules.setdefault("stanza", types.ModuleType("stanza"))
    import argostranslate.translate

    class Splitter:
        def __init__(self, package):
            pass

        def split_sentences(self, text):
            return [sentence for sentence in re.split(r"(?<=[.!?]) ", text) if sentence]

    argostranslate.translate.MiniSBDSentencizer = Splitter
    return argostranslate.translate


def put(found):
    print(json.dumps(found, ensure_ascii=False, default=float))
