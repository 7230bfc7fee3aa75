"""Devices, types of computation, checks of arguments, and functions of the module."""

import enum
import itertools
import logging
import operator
import os
import tempfile

import clformer
from clformer import _c

logger = logging.getLogger("ctranslate2")


class DataType(enum.Enum):
    """The types of a StorageView, with CTranslate2's numbers."""

    float32 = 0
    int8 = 1
    int16 = 2
    int32 = 3
    float16 = 4
    bfloat16 = 5

    def __int__(self):
        return self.value


class Device(enum.Enum):
    cpu = 0
    cuda = 1

    def __int__(self):
        return self.value


class ExecutionStats:
    """What translate_file() and score_file() did."""

    def __init__(self, num_tokens, num_examples, total_time_in_ms):
        self.num_tokens = num_tokens
        self.num_examples = num_examples
        self.total_time_in_ms = total_time_in_ms


# CTranslate2's name of each precision, and the precisions of the names that it accepts. None: see choose_precision().
NAMES = {_c.clf_precision[key]: name for key, name in {
    "CLF_PRECISION_FP32": "float32", "CLF_PRECISION_FP16": "float16", "CLF_PRECISION_BF16": "bfloat16",
    "CLF_PRECISION_INT8": "int8_float32"}.items()}
PRECISIONS = {
    "default": None, "auto": "int8", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8",
    "int8_float32": "int8", "int8_float16": "int8", "int8_bfloat16": "int8", "int16": None,
}


def string(value, name):
    if isinstance(value, bytes):
        value = value.decode("utf-8")
    if not isinstance(value, str):
        raise TypeError(f"{name}: must be a string, not {type(value).__name__}")
    return value


def whole(value, name, least=None):
    """Returns a whole number; NumPy's are accepted, floats are not."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: must be a whole number, not {type(value).__name__}") from None
    if least is not None and value < least:
        raise ValueError(f"{name}: must be {least} or more, not {value}")
    return value


def real(value, name):
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: must be a number, not {type(value).__name__}")
    return float(value)


def token_lists(values, name, optional=False):
    """Returns lists of lists of tokens. With `optional`, None stands for an empty list."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise TypeError(f"{name}: must be a list of lists of tokens, not {type(values).__name__}")
    found = []
    for value in values:
        if value is None and optional:
            value = []
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise TypeError(f"{name}: must be a list of lists of tokens, not of {type(value).__name__}")
        found.append([string(token, name) for token in value])
    return found


def choose_device(device, index):
    """Returns clformer's name of a device, and "cuda" for a GPU, which programs expect, else "cpu"."""
    word = string(device, "device").lower()
    if word not in ("cpu", "cuda", "auto", "opencl"):
        raise ValueError(f"device: must be cpu, cuda, opencl or auto, not {device!r}")
    chosen = os.environ.get("CLFORMER_CT2_DEVICE")
    found = clformer.devices()
    gpus = [one for one in found if one.kind == "gpu"]
    if chosen is None and (word == "cuda" or (word != "cpu" and gpus)):
        if index >= len(gpus):
            raise ValueError(f"device_index: there is no GPU {index}; {len(gpus)} OpenCL GPUs were found")
        chosen = str(gpus[index].index)
    elif chosen is None:
        if index != 0:
            raise ValueError(f"device_index: the CPU has only index 0, not {index}")
        chosen = "cpu" if word == "cpu" else None
    is_gpu = any(chosen in (str(one.index), "gpu") for one in gpus) if chosen else bool(gpus)
    logger.info("device %r runs on OpenCL device %s", device, chosen if chosen is not None else "0 (the default)")
    return chosen, "cuda" if is_gpu else "cpu"


def device_of(selector):
    """Returns the first clformer.Device of a selector; None: the default device."""
    found = clformer.devices()
    return next((one for one in found if selector in (str(one.index), one.kind)), found[0])


def choose_precision(compute_type, device, selector, stored):
    """Returns clformer's precision of a type, or of the types of a dictionary by device. As in CTranslate2, the default is the
    DataType `stored` of the weights if the device computes with it, else float32; None: clformer's own default, which is int8
    for int8 weights, else float32."""
    if isinstance(compute_type, dict):
        compute_type = compute_type.get(device, "default")
    word = string(compute_type, "compute_type")
    if word not in PRECISIONS:
        raise ValueError(f"compute_type: must be one of {', '.join(PRECISIONS)}, not {word!r}")
    if word == "int16":
        raise ValueError("compute_type: int16 is not supported; use int8 or float32")
    if word == "default" and device == "cuda" and stored is DataType.float16 and device_of(selector).has_fp16:
        return "fp16"
    if word == "default" and device == "cuda" and stored is DataType.bfloat16:
        return "bf16"
    return PRECISIONS[word]


def contains_model(path):
    """Returns whether a folder has a converted model."""
    return os.path.isfile(os.path.join(string(path, "path"), "model.bin"))


def get_cuda_device_count():
    """Returns the number of GPUs: programs ask for "cuda" where there is one."""
    return sum(device.kind == "gpu" for device in clformer.devices())


def get_supported_compute_types(device, device_index=0):
    """Returns the names of the types of computation on a device."""
    selector, _ = choose_device(device, whole(device_index, "device_index"))
    types = {"float32", "int8", "int8_float32", "bfloat16", "int8_bfloat16"}
    return types | {"float16", "int8_float16"} if device_of(selector).has_fp16 else types


_seed = None
_draws = itertools.count()


def set_random_seed(seed):
    """Sets the seed of samples."""
    global _seed, _draws
    _seed, _draws = whole(seed, "seed"), itertools.count()


def next_seed():
    """Returns a seed for one call."""
    first = int.from_bytes(os.urandom(6), "little") if _seed is None else _seed
    return (first + next(_draws)) % 2**63


_LEVELS = (logging.NOTSET, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
_level = logging.WARNING


def set_log_level(level):
    """Sets the lowest level of logging whose messages are shown."""
    global _level
    if whole(level, "level") not in _LEVELS:
        raise ValueError(f"level: must be a level of the module logging, not {level}")
    _level = level
    logging.getLogger("clformer").setLevel(level)
    logger.setLevel(level)


def get_log_level():
    return _level


class Files:
    """A folder in memory with the files that a program passes as `files`."""

    def __init__(self, files):
        if not isinstance(files, dict):
            raise TypeError(f"files: must be a dictionary from names to bytes, not {type(files).__name__}")
        contents = {string(name, "files"): self.read(name, value) for name, value in files.items()}
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        for name, content in contents.items():
            if os.path.basename(name) != name or name in ("", ".", ".."):
                raise ValueError(f"files: {name!r} is not the name of a file")
            with open(os.path.join(self.folder.name, name), "wb") as file:
                file.write(content)

    @staticmethod
    def read(name, value):
        value = value.read() if hasattr(value, "read") else value
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"files: {name!r} must be bytes or a file, not {type(value).__name__}")
        return value


def device_indices(device_index):
    """Returns the list of an index or of several."""
    if hasattr(device_index, "__len__"):
        return [whole(index, "device_index") for index in device_index]
    return [whole(device_index, "device_index")]
