"""OpenCL devices."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, List

from . import _c
from ._library import check, lib, run, text, use_opencl, words


@dataclass(frozen=True)
class Device:
    """An OpenCL device.

    index: the device as the argument `device` of a Translator, str(index).
    kind: "gpu", "cpu" or "other".
    clock_mhz: highest clock in MHz; 0 if the driver does not report it.
    memory_bytes, max_buffer_bytes: global memory and largest buffer, in bytes.
    candidate_order: rank among candidates for the default device, 0 is tried first; -1: used only if selected.
    order_reason: reason for candidate_order.
    """

    index: int
    kind: str
    name: str
    vendor: str
    version: str
    driver: str
    platform_name: str
    pci_address: str
    uuid: str
    compute_units: int
    clock_mhz: int
    shares_memory: bool
    memory_bytes: int
    max_buffer_bytes: int
    has_fp16: bool
    has_subgroups: bool
    candidate_order: int
    order_reason: str


def device_of(info: Any) -> Device:
    kinds = {value: word for word, value in words(_c.clf_device_kind).items()}
    values = {}
    for name in Device.__annotations__:
        value = getattr(info, name)
        if isinstance(value, bytes) or value is None:
            value = text(value)
        elif name.startswith(("has_", "shares_")):
            value = bool(value)
        values[name] = value
    values["kind"] = kinds.get(info.kind, "other")
    return Device(**values)


def devices() -> List[Device]:
    """Lists every device of every OpenCL platform.

    >>> devices()[0].index
    0
    """
    use_opencl()
    found = ctypes.c_void_p()
    run(lambda: check(lib.clf_device_list_create(ctypes.byref(found))))
    try:
        count = lib.clf_device_list_count(found)
        return [device_of(lib.clf_device_list_at(found, i).contents) for i in range(count)]
    finally:
        lib.clf_device_list_free(found)
