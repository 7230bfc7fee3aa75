"""StorageView: an array that programs pass to and from a model."""

import threading

import numpy

from ._common import DataType, Device

_TYPES = {"float32": DataType.float32, "int8": DataType.int8, "int16": DataType.int16, "int32": DataType.int32,
          "float16": DataType.float16}
_FLOATS = (DataType.float32, DataType.float16, DataType.bfloat16)


def is_float(dtype):
    return dtype in _FLOATS


def _convert(values, dtype):
    """Returns float32 values as an array of another floating-point type."""
    if dtype is DataType.bfloat16:
        bits = values.view(numpy.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)
    return values.astype(dtype.name)


class StorageView:
    """An array in host memory, or encoded windows of speech on a device, which move to the host when they are read. bfloat16
    is stored as the upper halves of float32 numbers."""

    def __new__(cls, *args, **kwargs):
        raise TypeError("StorageView has no constructor; use StorageView.from_array()")

    @classmethod
    def _make(cls, array, dtype):
        view = object.__new__(cls)
        view._values, view._dtype, view._windows, view._lock = array, dtype, None, threading.Lock()
        return view

    @classmethod
    def _of_windows(cls, windows, dtype):
        view = cls._make(None, dtype)
        view._windows = windows
        return view

    @property
    def _array(self):
        with self._lock:
            if self._values is None:
                self._values = _convert(self._windows.read(), self._dtype)
                self._windows = None  # a program may write to the array
            return self._values

    @classmethod
    def from_array(cls, array):
        """Returns a view of an array with __array_interface__; both share memory."""
        interface = getattr(array, "__array_interface__", None)
        if interface is None:
            raise ValueError("from_array: the object has no __array_interface__; pass a NumPy array")
        name = numpy.dtype(interface["typestr"]).name
        if name not in _TYPES:
            raise ValueError(f"from_array: {name} is not supported; use {', '.join(_TYPES)}")
        if interface.get("strides") is not None:
            raise ValueError("from_array: the array is not contiguous; use numpy.ascontiguousarray()")
        if interface["data"][1]:
            raise ValueError("from_array: the array is read only; copy it")
        return cls._make(numpy.asarray(array), _TYPES[name])

    @property
    def shape(self):
        windows = self._windows
        return list(self._array.shape if windows is None else windows.shape)

    @property
    def dtype(self):
        return self._dtype

    @property
    def device(self):
        return "cpu"

    @property
    def device_index(self):
        return 0

    @property
    def __array_interface__(self):
        if self._dtype is DataType.bfloat16:
            raise RuntimeError("NumPy has no bfloat16; convert the view by to(DataType.float32)")
        return self._array.__array_interface__

    def to(self, dtype):
        """Returns a copy of another type; floating-point types can be converted to each other."""
        if dtype is self._dtype:
            return self._make(self._array.copy(), dtype)
        if dtype not in _FLOATS or self._dtype not in _FLOATS:
            raise ValueError(f"to: {self._dtype.name} cannot be converted to {dtype.name}")
        return self._make(_convert(self._floats(), dtype), dtype)

    def _floats(self):
        """Returns the values of a floating-point view as float32."""
        values = self._array
        if self._dtype is DataType.bfloat16:
            values = (values.astype(numpy.uint32) << 16).view(numpy.float32)
        return values.astype(numpy.float32, copy=False)

    def to_device(self, device):
        """Returns the view: its memory is the host's on every device."""
        if device not in (Device.cpu, Device.cuda):
            raise ValueError(f"to_device: must be a Device, not {device!r}")
        return self

    def __str__(self):
        return f"{self._array}\n[cpu:0 {self._dtype.name} storage viewed as {'x'.join(map(str, self.shape))}]"
