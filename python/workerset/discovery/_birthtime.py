"""When a file was born, which `os.stat` does not tell on Linux."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# From linux/fcntl.h and linux/stat.h. `struct statx` has 256 bytes and these offsets on every architecture.
_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_SIZE = 256
_MASK = struct.Struct("=I")
_BTIME, _BTIME_AT = struct.Struct("=qI"), 80


def _from_statx() -> Callable[[int], int | None]:
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (AttributeError, OSError):  # a C library from before 2018
        return _unknown
    statx.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p)
    statx.restype = ctypes.c_int

    def birth_ns(descriptor: int) -> int | None:
        result = ctypes.create_string_buffer(_SIZE)
        if statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, result) != 0:
            return None
        (mask,) = _MASK.unpack_from(result)
        if not mask & _STATX_BTIME:
            return None
        seconds, nanoseconds = _BTIME.unpack_from(result, _BTIME_AT)
        return int(seconds) * 1_000_000_000 + int(nanoseconds)

    return birth_ns


def _from_stat(descriptor: int) -> int | None:
    born: float | None = getattr(os.fstat(descriptor), "st_birthtime", None)
    return None if born is None else int(born * 1_000_000_000)


def _unknown(_descriptor: int) -> int | None:
    return None


birth_ns: Callable[[int], int | None] = _from_statx() if sys.platform == "linux" else _from_stat
"""Nanoseconds since 1970 at which an open file was made; None where the file system does not say."""
