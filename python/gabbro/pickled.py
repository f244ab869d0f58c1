"""Pickled vectors, as Tevatron and BEIR keep them, into vectors.npy and ids.txt that gabbro reads.

    python -m gabbro.pickled corpus.0.pkl corpus.1.pkl --to vectors

A file holds a pair: an array [rows, width] and a list of as many ids. Only what such a pair consists of is unpickled, so
no code in a file is run; anything else is refused by its name.
"""

import argparse
import pathlib
import pickle
import sys

from ._whole import whole

# What NumPy's arrays are pickled as: names of "numpy", and of two modules that NumPy 2 calls otherwise than NumPy 1.
_ALLOWED = {
    "numpy": ("ndarray", "dtype"),
    "multiarray": ("_reconstruct", "scalar"),
    "numeric": ("_frombuffer",),
    "_codecs": ("encode",),
}


class _Arrays(pickle.Unpickler):
    def find_class(self, module, name):
        package, _, part = module.rpartition(".")
        inner = package in ("numpy.core", "numpy._core")
        if name not in _ALLOWED.get(part, ()) or (package and not inner):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of an array and ids")
        try:
            return super().find_class(module, name)
        except ImportError:  # written by the other NumPy
            other = "numpy.core" if package == "numpy._core" else "numpy._core"
            return super().find_class(f"{other}.{part}", name)


def read(path):
    """Returns the array [rows, width] of float32 or float16, and the ids of a file."""
    import numpy

    with open(path, "rb") as file:
        pair = _Arrays(file).load()
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
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
    import numpy

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
