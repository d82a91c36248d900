"""Studies in a browser, live: it reads the files and can neither change nor hold up a study."""

from surefoot.view.dashboard.app import make_app
from surefoot.view.dashboard.door import Door
from surefoot.view.dashboard.serve import serve

__all__ = ["Door", "make_app", "serve"]
