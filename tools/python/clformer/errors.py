"""Exceptions. Each has the library's message: what failed, on which device, file or line, and what to do."""

from __future__ import annotations

from typing import Dict, Type


class Error(Exception):
    """The base of all exceptions of this package."""


class ArgumentError(Error, ValueError):
    """An argument or an option is out of range."""


class HostMemoryError(Error, MemoryError):
    """The host has too little memory."""


class FileError(Error, OSError):
    """A file or folder cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file or folder does not exist."""


class FormatError(Error, ValueError):
    """A file is damaged or has the wrong format."""


class TextError(Error, ValueError):
    """A line of text cannot be used."""


class DeviceError(Error, RuntimeError):
    """An OpenCL device fails."""


class MissingDeviceError(DeviceError):
    """No OpenCL device matches."""


class DeviceMemoryError(DeviceError, MemoryError):
    """The device has too little memory."""


class UnsupportedError(Error, NotImplementedError):
    """The model or the request is not supported."""


class CancelledError(Error):
    """The operation was cancelled."""


class NetworkError(Error, ConnectionError):
    """The ranks of a distributed run cannot communicate."""


class ClosedError(Error, ValueError):
    """The object was closed."""


class ForkError(Error, RuntimeError):
    """The object belongs to another process: OpenCL does not survive fork()."""


class CommandError(Error, RuntimeError):
    """The command `clformer` failed."""


class LineWarning(UserWarning):
    """A line of a batch has no translation, or was truncated."""


# The exception of each status that is not CLF_OK. A status of a newer library raises Error.
BY_STATUS: Dict[str, Type[Error]] = {
    "CLF_BAD_ARGUMENT": ArgumentError,
    "CLF_OUT_OF_MEMORY": HostMemoryError,
    "CLF_FILE": FileError,
    "CLF_FORMAT": FormatError,
    "CLF_TEXT": TextError,
    "CLF_NO_DEVICE": MissingDeviceError,
    "CLF_DEVICE": DeviceError,
    "CLF_DEVICE_MEMORY": DeviceMemoryError,
    "CLF_BUILD": DeviceError,
    "CLF_UNSUPPORTED": UnsupportedError,
    "CLF_INTERRUPTED": CancelledError,
    "CLF_NETWORK": NetworkError,
}
