"""Runs and trains encoder-decoder Transformers on any OpenCL device.

Translator translates and scores text, Transcriber transcribes recordings, train() trains, devices() lists the OpenCL devices,
bench() measures them, and serve() starts the HTTP server. Exceptions are subclasses of Error; log messages go to the logger
"clformer".
"""

from ._library import lib as _lib
from .attention import Attention
from .command import Server, bench, serve
from .devices import Device, devices
from .errors import (
    ArgumentError, ClosedError, CommandError, DeviceError, DeviceMemoryError, Error, FileError, ForkError, FormatError,
    HostMemoryError, CancelledError, LineWarning, MissingDeviceError, MissingFileError, NetworkError, TextError,
    UnsupportedError,
)
from .options import TranscribeOptions, TranslateOptions
from .results import Hypothesis, Score, Translation
from .training import TrainRun, TrainSample, TrainStart, TrainUpdate, TrainValidation, train
from .transcriber import Segment, Transcriber, Transcription, Word
from .translator import Translator

__version__: str = _lib.clf_version().decode()
__all__ = [
    "ArgumentError", "Attention", "CancelledError", "ClosedError", "CommandError", "Device", "DeviceError",
    "DeviceMemoryError", "Error", "FileError", "ForkError", "FormatError", "HostMemoryError", "Hypothesis",
    "LineWarning", "MissingDeviceError", "MissingFileError", "NetworkError", "Score", "Segment", "Server", "TextError",
    "TrainRun", "TrainSample", "TrainStart", "TrainUpdate", "TrainValidation", "TranscribeOptions", "Transcriber",
    "Transcription", "TranslateOptions", "Translation", "Translator", "UnsupportedError", "Word", "bench", "devices",
    "serve", "train",
]
