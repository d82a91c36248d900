"""One decorator for all compiled functions: `@kernel`. Their machine code is kept on disk.

Numba's own cache notices an edit in the file of a function, but not in the files of the functions
and constants that it uses: their code and values are inside its machine code. Here the stamp of a
kernel is a digest of its module and of every module of this package that it imports, directly or
through others: code that is older than its sources is never run, and the new takes its place.

Numba chooses the folder of compiled code: NUMBA_CACHE_DIR, `__pycache__`, the user's cache folder;
after these, a private folder among the temporary files. Each piece carries a checksum. Damaged
pieces are compiled again, and pieces that cannot be saved are compiled by each process.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Self

from numba import njit
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
)
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

log = logging.getLogger("surefoot")

PACKAGE = Path(__file__).parents[1]
IMPORTS = re.compile(
    rf"^\s*(?:from|import)\s+({PACKAGE.name}[\w.]*)(?:\s+import\s+(\([^)]*\)|.*))?", re.MULTILINE
)


def kernel(
    function: Callable[..., Any] | None = None, *, fastmath: bool | set[str] = False
) -> Callable[..., Any]:
    """Compile a function at its first call, or load the code of an earlier process.

    Args:
        function: The function, where the decorator is used without arguments.
        fastmath: Which freedoms the compiler may take with floating-point numbers, as in Numba.
    """
    if function is None:
        return lambda function: kernel(function, fastmath=fastmath)
    compiled = njit(error_model="numpy", nogil=True, fastmath=fastmath)(function)
    if hasattr(compiled, "py_func"):  # NUMBA_DISABLE_JIT leaves the function as it is
        with contextlib.suppress(OSError, RuntimeError):  # no source to read, nowhere to write
            compiled._cache = _Cache(function)
    return compiled  # type: ignore[no-any-return]


@cache
def _announce() -> None:
    """Say once why the first result takes long; a command shows it, a library call does not."""
    log.info("compiling for this machine: up to a minute, this once")


class _PrivateTemporaryFolder(_CacheLocator):  # type: ignore[misc]
    """A folder for this user alone, where no other place is writable."""

    def __init__(self, file: str) -> None:
        self._private = Path(tempfile.gettempdir()) / f"surefoot-{os.getuid()}"
        self._folder = self._private / self.get_suitable_cache_subpath(file)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Self | None:
        locator = cls(file)
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator

    def ensure_cache_path(self) -> None:
        self._private.mkdir(mode=0o700, exist_ok=True)
        found = self._private.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise PermissionError(f"{self._private} is not private")
        super().ensure_cache_path()

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> None:
        """Do without: the cache keeps its own."""

    def get_disambiguator(self) -> str:
        """Files are named after their functions alone."""
        return ""


class _Format(CompileResultCacheImpl):  # type: ignore[misc]
    """Machine code with a checksum, in a file named after its function."""

    _locator_classes = (*CompileResultCacheImpl._locator_classes, _PrivateTemporaryFolder)

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Leave out the line number, so that new code takes the place of the old."""
        return f"{fullname}.py{sys.version_info[0]}{sys.version_info[1]}{abiflags}"

    def reduce(self, compiled: Any) -> tuple[bytes, bytes]:
        data: bytes = dumps(super().reduce(compiled))
        return hashlib.sha256(data).digest(), data

    def rebuild(self, target_context: Any, payload: tuple[bytes, bytes]) -> Any:
        checksum, data = payload
        if hashlib.sha256(data).digest() != checksum:
            raise ValueError("damaged")
        return super().rebuild(target_context, pickle.loads(data))


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache with a stamp of all sources, that outlives damage, races and full disks."""

    _impl_class = _Format

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            self.cache_path, self._impl.filename_base, _digest(Path(function.__code__.co_filename))
        )

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        found = None
        try:
            found = super().load_overload(signature, target_context)
        except Exception:  # a damaged file can make pickle raise anything
            self._start_afresh()
        if found is None or found.signature.args != normalize_signature(signature)[0]:
            _announce()  # two processes can have written to one file, for different signatures
            return None
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep it if that is possible. It runs in any case, so no failure to keep it is an error.

        Numba hands over the object code of a function in a callback of LLVM, where an exception is
        lost; the missing code then shows only here, as a RuntimeError.
        """
        with contextlib.suppress(Exception):
            super().save_overload(signature, compiled)

    def _start_afresh(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()


@cache
def _digest(module: Path) -> bytes:
    """Return the digest of a module's source and of all of this package that it imports."""
    total = hashlib.sha256()
    for file in sorted(_sources(module)):
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.digest()


def _sources(module: Path) -> set[Path]:
    """Return the files of this package whose text can enter a module's kernels, its own among
    them.
    """
    found, waiting = {module}, [module]
    while waiting:
        for file in _imported(waiting.pop()) - found:
            found.add(file)
            waiting.append(file)
    return found


@cache
def _imported(file: Path) -> frozenset[Path]:
    text = file.read_text(encoding="utf-8")
    return frozenset(
        path for name in _imported_names(text) for path in _files(name) if path.is_file()
    )


def _imported_names(text: str) -> Iterator[str]:
    """Yield every `package.module` and `package.module.name` in the import statements of a
    source.
    """
    for module, names in IMPORTS.findall(text):
        yield module
        for name in re.findall(r"\w+", names):
            yield f"{module}.{name}"


def _files(name: str) -> tuple[Path, Path]:
    place = PACKAGE.joinpath(*name.split(".")[1:])
    return place.with_suffix(".py"), place / "__init__.py"
