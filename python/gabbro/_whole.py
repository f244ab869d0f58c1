"""Files that stand there once they are whole."""
import contextlib
import os
import secrets


@contextlib.contextmanager
def whole(path, mode="w"):
    """Opens a file for writing; it appears, or takes the place of an earlier one, when all of it is written."""
    path = os.path.realpath(path)
    kind = {} if "b" in mode else {"encoding": "utf-8"}
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device
        with open(path, mode, **kind) as out:
            yield out
        return
    folder, name = os.path.split(path)
    # Two containers can have a process of the same number, so this does not tell drafts apart.
    draft = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.draft")
    try:
        with open(draft, mode.replace("w", "x"), **kind) as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(draft)
        raise
