"""Studies in a browser, live: it reads the files and can neither change nor hold up a study."""

from surefoot.view.dashboard.app import make_app, serve
from surefoot.view.dashboard.guard import Door

__all__ = ["Door", "make_app", "serve"]
