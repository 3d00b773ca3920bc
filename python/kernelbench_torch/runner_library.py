"""ctypes view of the runner library (src/runner/c_api.h)."""

import ctypes
import os

from . import ops

WORK = ctypes.CFUNCTYPE(ctypes.c_int)
_POINTER, _TEXT, _I64, _U64, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_int
_SIGNATURES = {
    "kbr_run_worker": (None, [_INT, _INT, _INT, _U64, _TEXT, _TEXT, WORK]),
    "kbr_enter": (None, [_INT, _U64, _TEXT, _TEXT]),
    "kbr_confine": (_TEXT, [_TEXT]),
    "kbr_probe": (None, [_TEXT]),
    "kbr_open_gpu": (_TEXT, []),
    "kbr_map_gpu": (_POINTER, [_INT]),
    "kbr_arena_open": (None, [_POINTER, _U64]),
    "kbr_trace_start": (_TEXT, [_TEXT]),
    "kbr_trace_stop": (_TEXT, []),
    "kbr_map": (_POINTER, [_INT]),
    "kbr_mailbox": (_POINTER, [_POINTER]),
    "kbr_wait": (ctypes.c_uint32, [_POINTER, ctypes.POINTER(_U64)]),
    "kbr_write_report": (None, [_POINTER, _INT, _INT, _TEXT, _U64, _INT, ctypes.POINTER(_I64)]),
    "kbr_answer": (None, [_POINTER]),
    "kbr_finish": (_TEXT, [_POINTER, _POINTER, _POINTER, _U64]),
}

# CallKind and ReportStatus, as in src/wire.
EMPTY, LOAD, PREPARE, FORWARD, EXIT, TRACE = 1, 2, 3, 4, 5, 6
OK, LOAD_FAILED, RAISED, OUT_OF_MEMORY, WRONG_FORM, LACKS_EXTENSION = 0, 1, 2, 3, 4, 5


def load(path):
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def lines(items):
    """A list as the library takes it."""
    return "".join(f"{item}\n" for item in items).encode()


def confine(library, confinement):
    """Gives up this process's powers; None, or why that failed."""
    problem = library.kbr_confine(ops.encoded(confinement))
    os.environ.update(HOME=confinement.scratch, TMPDIR=confinement.scratch)
    return problem and problem.decode()
