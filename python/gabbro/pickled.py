"""Pickled vectors, as Tevatron and BEIR keep them, into vectors.npy and ids.txt that gabbro reads.

    python -m gabbro.pickled corpus.0.pkl corpus.1.pkl --to vectors

A file holds a pair: an array [rows, width] and a list of as many ids. Only what such a pair consists of is unpickled, by
stand-ins for NumPy's own functions, so no code in a file is run; anything else is refused by its name.
"""

import argparse
import pathlib
import pickle
import sys

import numpy

from ._whole import whole


class _Kind:
    """Stands for a dtype: its name and order of bytes alone are taken from a file."""

    def __init__(self, name, *_):
        self.dtype = numpy.dtype(str(name))

    def __setstate__(self, state):
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """Stands for an array, which NumPy itself would make of whatever a file has, and crash."""

    def __init__(self, *_):
        self.array = None

    def __setstate__(self, state):
        _, shape, kind, by_columns, data = state
        self.array = _frombuffer(data, kind, shape, "F" if by_columns else "C")

    def __array__(self, *_, **__):
        return self.array

    def __iter__(self):
        return iter(self.array)


def _frombuffer(data, kind, shape, order):
    flat = numpy.array(data, object) if kind.dtype.hasobject else numpy.frombuffer(data, kind.dtype)
    return flat.reshape(shape, order=order)


def _scalar(kind, data):
    return numpy.frombuffer(data, kind.dtype)[0]


def _encode(text, encoding):
    return text.encode("latin1")


# What arrays are pickled as: names of "numpy", and of two modules that NumPy 2 calls otherwise than NumPy 1.
_ALLOWED = {
    "numpy": {"ndarray": _Array, "dtype": _Kind},
    "multiarray": {"_reconstruct": _Array, "scalar": _scalar},
    "numeric": {"_frombuffer": _frombuffer},
    "_codecs": {"encode": _encode},
}


class _Arrays(pickle.Unpickler):
    def find_class(self, module, name):
        package, _, part = module.rpartition(".")
        if name not in _ALLOWED.get(part, ()) or package not in ("", "numpy.core", "numpy._core"):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of an array and ids")
        return _ALLOWED[part][name]


def _load(path):
    with open(path, "rb") as file:
        try:
            return _Arrays(file).load()
        except OSError:
            raise
        except Exception as error:  # a damaged file raises anything
            raise pickle.UnpicklingError(f"{path}: no pickled vectors: {str(error) or repr(error)}") from error


def read(path):
    """Returns the array [rows, width] of float32 or float16, and the ids of a file."""
    pair = _load(path)
    if (not isinstance(pair, (tuple, list)) or len(pair) != 2
            or not isinstance(pair[1], (list, tuple, numpy.ndarray, _Array))):
        raise ValueError(f"{path}: not a pair of an array and ids")
    vectors, ids = numpy.asarray(pair[0]), [str(one) for one in pair[1]]
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise ValueError(f"{path}: not an array [rows, width] of floats")
    if len(ids) != len(vectors):
        raise ValueError(f"{path}: {len(ids)} ids of {len(vectors)} vectors")
    if any("\n" in one or "\r" in one for one in ids):
        raise ValueError(f"{path}: an id with a line end")
    return vectors if vectors.dtype == numpy.float16 else vectors.astype(numpy.float32), ids


def convert(paths, to):
    """Writes the vectors of all files, in their order, as one folder; returns their number."""
    parts = [read(path) for path in paths]
    if len({part[0].shape[1] for part in parts}) > 1:
        raise ValueError("the files have vectors of different widths")
    to = pathlib.Path(to)
    to.mkdir(parents=True, exist_ok=True)
    vectors = numpy.ascontiguousarray(numpy.concatenate([part[0] for part in parts]))
    with whole(to / "vectors.npy", "wb") as out, whole(to / "ids.txt") as ids:
        numpy.save(out, vectors)
        ids.writelines(one + "\n" for part in parts for one in part[1])
    return len(vectors)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m gabbro.pickled", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="pickled vectors; several are put together")
    parser.add_argument("--to", required=True, metavar="DIR", help="folder that is written")
    options = parser.parse_args(arguments)
    try:
        count = convert(options.files, options.to)
    except (OSError, ValueError, pickle.UnpicklingError, EOFError) as error:
        print(f"gabbro.pickled: {error}", file=sys.stderr)
        return 3
    print(f"{count} vectors in {options.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
