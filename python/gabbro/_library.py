"""The functions of libgabbro, as ctypes sees them; include/gabbro.h documents them."""
import ctypes
import ctypes.util
import os
import pathlib
import sys
from ctypes import (POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
                    c_size_t, c_uint32, c_void_p)

NO_ROW = 0xFFFFFFFF
USAGE, DATA, DEVICE, MEMORY = 2, 3, 4, 5


class Status(Structure):
    _fields_ = [("code", c_int32), ("what", c_char * 400), ("where", c_char * 300),
                ("hint", c_char * 300)]


class ModelParams(Structure):
    _fields_ = [("size", c_size_t), ("device", c_char_p), ("pooling", c_char_p), ("dims", c_uint32),
                ("compare", c_bool)]


class IndexParams(Structure):
    _fields_ = [("size", c_size_t), ("device", c_char_p), ("model", c_void_p), ("store", c_char_p)]


class Hit(Structure):
    _fields_ = [("row", c_uint32), ("score", c_float)]


class MeasureParams(Structure):
    _fields_ = [("size", c_size_t), ("level", c_int32), ("complete", c_bool)]


ValueFunction = ctypes.CFUNCTYPE(None, c_void_p, POINTER(c_char), c_size_t, c_double)
Texts = POINTER(c_char_p)

_FUNCTIONS = {
    "gabbro_version": (c_char_p, []),
    "gabbro_model_open": (c_void_p, [c_char_p, POINTER(ModelParams), POINTER(Status)]),
    "gabbro_model_close": (None, [c_void_p]),
    "gabbro_model_path": (c_char_p, [c_void_p]),
    "gabbro_model_width": (c_uint32, [c_void_p]),
    "gabbro_model_max_tokens": (c_uint32, [c_void_p]),
    "gabbro_model_pooling": (c_char_p, [c_void_p]),
    "gabbro_encode": (c_bool, [c_void_p, c_int, Texts, c_size_t, c_void_p, POINTER(Status)]),
    "gabbro_count_tokens": (c_bool, [c_void_p, c_int, Texts, c_size_t, c_void_p, POINTER(Status)]),
    "gabbro_count_pair_tokens": (c_bool, [c_void_p, Texts, Texts, c_size_t, c_void_p, POINTER(Status)]),
    "gabbro_score": (c_bool, [c_void_p, Texts, Texts, c_size_t, c_void_p, POINTER(Status)]),
    "gabbro_index_open": (c_void_p, [c_char_p, POINTER(IndexParams), POINTER(Status)]),
    "gabbro_index_make": (c_void_p, [c_void_p, c_char_p, POINTER(IndexParams), POINTER(Status)]),
    "gabbro_index_of": (c_void_p, [c_void_p, c_uint32, c_uint32, Texts, POINTER(IndexParams),
                                   POINTER(Status)]),
    "gabbro_index_close": (None, [c_void_p]),
    "gabbro_index_rows": (c_uint32, [c_void_p]),
    "gabbro_index_width": (c_uint32, [c_void_p]),
    "gabbro_index_path": (c_char_p, [c_void_p]),
    "gabbro_index_id": (POINTER(c_char), [c_void_p, c_uint32, POINTER(c_size_t)]),
    "gabbro_index_passage": (c_bool, [c_void_p, c_uint32, POINTER(POINTER(c_char)),
                                      POINTER(c_size_t), POINTER(POINTER(c_char)),
                                      POINTER(c_size_t)]),
    "gabbro_search": (c_bool, [c_void_p, c_void_p, c_size_t, c_uint32, c_uint32, POINTER(Hit),
                               POINTER(Status)]),
    "gabbro_run_create": (c_void_p, [POINTER(Status)]),
    "gabbro_run_read": (c_void_p, [c_char_p, POINTER(Status)]),
    "gabbro_run_close": (None, [c_void_p]),
    "gabbro_run_add": (c_bool, [c_void_p, c_char_p, Texts, POINTER(c_double), c_size_t,
                                POINTER(Status)]),
    "gabbro_run_write": (c_bool, [c_void_p, c_char_p, c_char_p, POINTER(Status)]),
    "gabbro_run_queries": (c_size_t, [c_void_p]),
    "gabbro_run_query": (POINTER(c_char), [c_void_p, c_size_t, POINTER(c_size_t),
                                           POINTER(c_size_t)]),
    "gabbro_run_hit": (POINTER(c_char), [c_void_p, c_size_t, c_size_t, POINTER(c_size_t),
                                         POINTER(c_double)]),
    "gabbro_measure": (c_bool, [c_void_p, c_char_p, c_char_p, POINTER(MeasureParams), ValueFunction,
                                c_void_p, POINTER(c_double), POINTER(Status)]),
}


class GabbroError(RuntimeError):
    """A failure that the library reports: `code` is stable, `where` and `hint` may be empty."""

    def __init__(self, status):
        self._status = bytes(status)
        self.code = status.code
        self.what, self.where, self.hint = (
            text.decode("utf-8", "replace") for text in (status.what, status.where, status.hint))
        where = self.where + ": " if self.where else ""
        super().__init__(where + self.what + (f" ({self.hint})" if self.hint else ""))

    def __reduce__(self):  # to the process that waits for the one where it was raised
        return _error_of, (self._status,)


def _error_of(status):
    return GabbroError(Status.from_buffer_copy(status))


def _candidates():
    """Where the library may be: where the user says, in the package, installed."""
    if os.environ.get("GABBRO_LIBRARY"):
        return [os.environ["GABBRO_LIBRARY"]]
    suffix = "dylib" if sys.platform == "darwin" else "so"
    inside = pathlib.Path(__file__).with_name(f"libgabbro.{suffix}")
    found = [str(inside)] if inside.exists() else []
    return found + [name for name in (ctypes.util.find_library("gabbro"), "libgabbro.so.0") if name]


def _load():
    errors = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
            return library
        except (OSError, AttributeError) as error:  # none, or one of another version
            errors.append(str(error))
    raise ImportError("libgabbro is not found: " + "; ".join(errors))


library = _load()


def call(name, *arguments):
    """Calls a function whose last argument is a status; raises GabbroError where it fails."""
    status = Status()
    result = getattr(library, name)(*arguments, ctypes.byref(status))
    if not result:
        raise GabbroError(status)
    return result


def encoded(text):
    """A text as the library takes it. NUL ends texts in C, so it becomes a blank."""
    if not isinstance(text, str):
        raise TypeError(f"a text is a str, not {type(text).__name__}")
    return text.replace("\0", " ").encode("utf-8", "replace")


def path_bytes(path):
    """A path or name as the library takes it; ValueError for one with a NUL, which would end it."""
    path = None if path is None else os.fsencode(path)
    if path and b"\0" in path:
        raise ValueError("embedded null byte")
    return path


def device_bytes(device):
    """A device as the library takes it: an index may be a number, too."""
    return path_bytes(str(device) if isinstance(device, int) else device)


def texts_of(texts):
    """A list of texts; TypeError for a single one, whose letters would be taken for texts."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("a list of texts is needed, not a single one")
    return list(texts)


def texts_array(texts):
    return (c_char_p * len(texts))(*[encoded(text) for text in texts])


class Owned:
    """An object of the library, closed with the Python object. It belongs to its process."""

    def __init__(self, handle, close):
        self._handle, self._close, self._process = handle, close, os.getpid()

    @property
    def handle(self):
        if self._handle is None:
            raise ValueError("it is closed")
        if os.getpid() != self._process:
            raise RuntimeError("it was opened before this process was forked: open it here")
        return self._handle

    def __reduce_ex__(self, protocol):  # a copy would close it, too
        raise TypeError(f"a {type(self).__name__} is not copied or pickled: open it again")

    def close(self):
        """Closes it; further use is an error."""
        handle, self._handle = self._handle, None
        if handle is not None and os.getpid() == self._process:
            getattr(library, self._close)(handle)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None) is not None and library is not None:
            self.close()
