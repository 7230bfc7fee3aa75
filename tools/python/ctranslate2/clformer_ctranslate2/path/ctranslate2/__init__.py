"""The Python API of CTranslate2 4 on OpenCL devices, by clformer. README.md lists the differences.

CLFORMER_CT2_DEVICE names the device of every model, whatever the program asks for: an index, "gpu", "cpu" or a part of a
name, as the argument `device` of clformer.Translator.
"""

import importlib.util
import os
import sys

from . import models
from ._common import (
    DataType, Device, ExecutionStats, contains_model, get_cuda_device_count, get_log_level, get_supported_compute_types,
    set_log_level, set_random_seed,
)
from ._others import Encoder, Generator
from ._results import (
    AsyncScoringResult, AsyncTranslationResult, GenerationStepResult, ScoringResult, TranslationResult,
)
from ._storage import StorageView
from ._translator import Translator
from .version import __version__

__all__ = [
    "AsyncScoringResult", "AsyncTranslationResult", "DataType", "Device", "Encoder", "ExecutionStats",
    "GenerationStepResult", "Generator", "ScoringResult", "StorageView", "TranslationResult", "Translator",
    "contains_model", "get_cuda_device_count", "get_log_level", "get_supported_compute_types", "models",
    "set_log_level", "set_random_seed",
]


def _real_folder():
    """Returns the folder of an installed CTranslate2, whose converters are Python without its engine, or None."""
    own = os.path.dirname(os.path.abspath(__file__))
    for entry in sys.path:
        folder = os.path.join(entry or os.getcwd(), "ctranslate2")
        if os.path.isdir(os.path.join(folder, "specs")) and os.path.realpath(folder) != os.path.realpath(own):
            return folder
    return None


_real = _real_folder()
if _real is not None:
    __path__.append(_real)


def __getattr__(name):
    """Imports the converters of an installed CTranslate2 at their first use."""
    if name in ("converters", "specs", "extensions", "logging"):
        if importlib.util.find_spec(f"{__name__}.{name}") is not None:
            return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
