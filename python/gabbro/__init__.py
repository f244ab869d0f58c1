"""Dense retrieval on any GPU: vectors of texts, exact search, measures. Stands on libgabbro."""
from . import _library
from ._encoder import Encoder
from ._library import GabbroError
from ._runs import Run
from ._search import Hit, Index, Searcher

__version__ = _library.library.gabbro_version().decode()
__all__ = ["Encoder", "GabbroError", "Hit", "Index", "Run", "Searcher"]
