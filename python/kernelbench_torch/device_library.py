"""ctypes view of the device library (src/device/c_api.h)."""

import ctypes
import json

PLACED_LATE, PLACED_NOW, PLACED_BEFORE = range(3)  # kbd_present

_POINTER, _TEXT, _I64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64
_SIGNATURES = {
    "kbd_now_ns": (_I64, []),
    "kbd_open": (_POINTER, [_TEXT, ctypes.c_int]),
    "kbd_info": (_TEXT, [_POINTER]),
    "kbd_fill_uniform": (None, [_POINTER, _POINTER, _I64, ctypes.c_uint64]),
    "kbd_budget_new": (_POINTER, []),
    "kbd_budget_free": (None, [_POINTER]),
    "kbd_budget_copy": (_POINTER, [_POINTER, _POINTER]),
    "kbd_budget_add": (None, [_POINTER, _POINTER, ctypes.c_int, ctypes.c_int, _I64, _POINTER, _POINTER]),
    "kbd_budget_pool": (None, [_POINTER]),
    "kbd_budget_judgeable": (ctypes.c_int, [_POINTER, _TEXT]),
    "kbd_budget_info": (_TEXT, [_POINTER, _POINTER]),
    "kbd_judge": (_TEXT, [_POINTER, _POINTER, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(_I64), _POINTER, _POINTER, _TEXT]),
    "kbd_session_new": (_POINTER, [_POINTER, _TEXT]),
    "kbd_session_free": (None, [_POINTER]),
    "kbd_error": (_TEXT, []),
    "kbd_session_share_inputs": (ctypes.c_int, [_POINTER, ctypes.POINTER(ctypes.c_int * 4)]),
    "kbd_session_share": (ctypes.c_int, [_POINTER, _POINTER, _POINTER, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int * 4)]),
    "kbd_session_attach": (None, [_POINTER, ctypes.c_int, ctypes.c_int]),
    "kbd_session_populate": (None, [_POINTER]),
    "kbd_set_parameters": (None, [_POINTER, _POINTER]),
    "kbd_present": (None, [_POINTER, _POINTER, ctypes.c_int]),
    "kbd_call": (_TEXT, [_POINTER, ctypes.c_int, ctypes.c_uint64, _I64, ctypes.c_int]),
    "kbd_observe": (_TEXT, [_POINTER, _POINTER, ctypes.c_uint64, _I64, _TEXT]),
    "kbd_secrets_hold": (ctypes.c_int, [_POINTER]),
    "kbd_flush": (None, [_POINTER]),
    "kbd_flush_last_level": (None, [_POINTER]),
    "kbd_check_inputs": (_TEXT, [_POINTER, _POINTER]),
    "kbd_compare": (_TEXT, [_POINTER, _POINTER, _POINTER, _TEXT]),
    "kbd_keep_outputs": (ctypes.c_int, [_POINTER]),
    "kbd_outputs_equal_kept": (ctypes.c_int, [_POINTER]),
}


def load(path):
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def pointers(tensors):
    """A C array of the tensors' first bytes. The tensors must outlive the call."""
    return (ctypes.c_void_p * max(len(tensors), 1))(*[t.data_ptr() for t in tensors])


def parsed(text):
    return json.loads(text)
