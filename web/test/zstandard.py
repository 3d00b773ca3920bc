"""Zstandard frames, as the store's blobs are, by the library that the build needs anyway."""

import ctypes

_LIBRARY = ctypes.CDLL("libzstd.so.1")
for _name in ("ZSTD_compress", "ZSTD_decompress", "ZSTD_compressBound"):
    getattr(_LIBRARY, _name).restype = ctypes.c_size_t
_LIBRARY.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong


def compress(data):
    room = ctypes.create_string_buffer(_LIBRARY.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = _LIBRARY.ZSTD_compress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 3)
    return room.raw[:size]


def decompress(frame):
    size = _LIBRARY.ZSTD_getFrameContentSize(frame, ctypes.c_size_t(len(frame)))
    room = ctypes.create_string_buffer(max(size, 1))
    got = _LIBRARY.ZSTD_decompress(room, ctypes.c_size_t(len(room)), frame, ctypes.c_size_t(len(frame)))
    return room.raw[:got]
