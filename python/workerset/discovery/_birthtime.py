"""When a file was born, which `os.stat` does not tell on Linux."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800


class _Timestamp(ctypes.Structure):
    _fields_ = (("sec", ctypes.c_int64), ("nsec", ctypes.c_uint32), ("_pad", ctypes.c_int32))


class _Statx(ctypes.Structure):
    """`struct statx` of linux/stat.h: 256 bytes on every architecture; the parts that are not read are one field."""

    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("_blksize_to_attributes_mask", ctypes.c_uint8 * 60),
        ("atime", _Timestamp),
        ("btime", _Timestamp),
        ("_ctime_to_spare", ctypes.c_uint8 * 160),
    )


def _from_statx() -> Callable[[int], int | None]:
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (AttributeError, OSError):  # a C library from before 2018
        return _unknown
    statx.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_Statx))
    statx.restype = ctypes.c_int

    def birth_ns(descriptor: int) -> int | None:
        result = _Statx()
        if statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, ctypes.byref(result)) != 0:
            return None
        if not result.mask & _STATX_BTIME:
            return None
        return int(result.btime.sec) * 1_000_000_000 + int(result.btime.nsec)

    return birth_ns


def _from_stat(descriptor: int) -> int | None:
    born: float | None = getattr(os.fstat(descriptor), "st_birthtime", None)
    return None if born is None else int(born * 1_000_000_000)


def _unknown(_descriptor: int) -> int | None:
    return None


birth_ns: Callable[[int], int | None] = _from_statx() if sys.platform == "linux" else _from_stat
"""Nanoseconds since 1970 at which an open file was made; None where the file system does not say."""
