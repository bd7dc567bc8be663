"""Starts the watching. Every Python that `xsp run` starts reads this module before the program.

It takes the place of the site's own sitecustomize, which it reads next.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _read_next():
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _here]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401: the one of the site
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = own


def _attach():
    if sys.version_info < (3, 8) or not os.environ.get("XSP_RUN"):
        return
    sys.path.append(os.path.dirname(_here))
    try:
        from xsp import _attach

        _attach.install()
    except ImportError as error:
        sys.stderr.write("xsp: Python is not watched: %s\n" % error)


_attach()
_read_next()
