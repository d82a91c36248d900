"""Functions of named parameters as simulators of pulls, and the files that simulators are made of.

Seen are the modules of a Python function and of its decorators, and the one that study.toml names;
or the program and the files that a command names; and for Python the modules that they import from
beside them. Installed libraries, data that a simulator reads by itself and services that it calls
are not. A Dask worker compares the modules that it has loaded with these files.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import os
import re
import shutil
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from surefoot.errors import InputError
from surefoot.study.input import Simulated
from surefoot.study.programs.simulators import FIELD, CommandSimulator, TimeLimited
from surefoot.study.provenance import Source
from surefoot.study.pull import Pull

RANDOM = ("rng", "seed", "stream", "pull")  # with these a pull is repeatable
OFFERED = (*RANDOM, "arm", "perturbation")
EMPTY, BY_NAME = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
ALL_OTHERS, ANY_PLACES = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL


class Named:
    """A function that is called with the arguments that its signature names.

    A function of one argument that is called like no parameter is given the pull itself, which is
    a mapping of the parameters too.

    Attributes:
        function: to be called.
        names: the arguments by name; None: the pull alone.
        module: where a configuration says that the function is; it may come from elsewhere.
        raised: the last exception of the function in this process.

    Args:
        parameters: the names of simulated parameters.
        time_limit: seconds after which a call is stopped, and has failed; None: never.
    """

    def __init__(
        self,
        function: Callable[..., Simulated],
        parameters: Sequence[str],
        module: str | None = None,
        time_limit: float | None = None,
    ) -> None:
        if not callable(function):
            raise InputError(
                f"the simulator is {function!r:.80}, which cannot be called: give a function such "
                f"as simulate({', '.join([*parameters[:3], 'rng'])}) that returns one number"
            )
        self.function = function if time_limit is None else TimeLimited(function, time_limit)
        self.module = module
        self.raised: BaseException | None = None
        self.names = _arguments(function, list(parameters))

    @property
    def __wrapped__(self) -> Callable[..., Simulated]:
        """The function, for tools that look for its source."""
        return self.function

    @property
    def title(self) -> str:
        """The name of the function."""
        inner = self.function
        while isinstance(inner, functools.partial | TimeLimited):
            inner = inner.func if isinstance(inner, functools.partial) else inner.function
        return getattr(inner, "__name__", type(inner).__name__).strip("<>")

    @property
    def is_repeatable(self) -> bool:
        """True if the function asks for the random streams of its pull."""
        return self.names is None or any(name in RANDOM for name in self.names)

    def __call__(self, pull: Pull) -> Simulated:
        """Return the function's result for a pull."""
        try:
            if self.names is None:
                return self.function(pull)
            return self.function(**{name: _argument(pull, name) for name in self.names})
        except (Exception, SystemExit) as error:
            self.raised = error
            raise


def _argument(pull: Pull, name: str) -> Any:
    if name in pull.parameters:
        return pull.parameters[name]
    if name == "pull":
        return pull
    return pull.rng() if name == "rng" else getattr(pull, name)


def _arguments(function: Callable[..., Simulated], parameters: list[str]) -> list[str] | None:
    """Return the names that a function is called with; None: it is given the pull."""
    try:
        taken = inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled, without a signature
        return None
    named = [name for name, one in taken.items() if one.kind not in (ALL_OTHERS, ANY_PLACES)]
    needed = [name for name in named if taken[name].default is EMPTY]
    known = [*parameters, *OFFERED]
    if _takes_a_pull(taken, needed, known):
        return None
    unknown = [name for name in needed if name not in known]
    if unknown:
        close = get_close_matches(unknown[0], known, 1)
        hint = f"did you mean {close[0]!r}? T" if close else "t"
        raise InputError(
            f"the simulator needs {unknown[0]!r}, which neither arms nor environment have: {hint}he"
            f" parameters are {parameters}, and rng, seed, stream, pull are given where they are "
            "named; or give it a default"
        )
    if any(one.kind is ALL_OTHERS for one in taken.values()):
        return [*parameters, *(name for name in named if name in OFFERED)]
    left_out = [name for name in parameters if name not in named]
    if left_out and "pull" not in named:
        raise InputError(
            f"the simulator takes {', '.join(named) or 'nothing'}, but not {left_out[0]!r}, which "
            "arms or environment have: add it to the function's arguments, or **others for all "
            "that it does not use"
        )
    return [name for name in named if name in known]


def _takes_a_pull(taken: Any, needed: list[str], known: list[str]) -> bool:
    """Return whether the one argument that has to be given is called like nothing that is known."""
    if not needed:
        return any(one.kind is ANY_PLACES for one in taken.values())
    if len(needed) > 1 or taken[needed[0]].kind is BY_NAME:
        return False
    others = [name for name in taken if name in known and name != needed[0]]
    return needed[0] == "pull" or (needed[0] not in known and not others)


BLOCK = 2**20
UNREADABLE = "cannot be read"  # in place of a digest
_parsing = threading.Lock()  # Python 3.11 counts the depth of trees for all threads in one place
MOST_LAYERS = 100  # of decorators; more are a circle
PLAIN = str | bytes | bool | int | float | None
# they run the program that a later argument names, and are, like libraries, no part of it
INTERPRETERS = re.compile(
    r"(python|pypy|perl|ruby|node|lua|java|julia|Rscript|octave|matlab|(ba|da|z)?sh|env)[\d.]*"
)
INSTALLED = tuple(
    {str(Path(sysconfig.get_path(name)).resolve()) + os.sep for name in ("stdlib", "purelib")}
    | {str(Path(__file__).resolve().parents[2]) + os.sep}
)

Files = dict[str, Path]
Modules = dict[str, list[str]]  # digests by the name under which a module is imported


class _Parts(NamedTuple):
    """The settings asked, the files behind them, digests of code in no file, and whether files
    are imported, so that what they do as programs is no part of the simulator.
    """

    asked: dict[str, Any]
    files: Files
    texts: dict[str, list[str]]
    imported: bool = True


class Watched:
    """A simulator whose files are looked at now and then.

    Attributes:
        source: the digests of its files and code, as of the last look.
    """

    def __init__(self, simulator: Callable[..., Any]) -> None:
        self._simulator = simulator
        self._take()

    def changed(self) -> bool:
        """Look again; true if anything is another file, or has another time or size, than before.

        Workers begin whenever there is work for them, and programs with each pull: so a change
        counts from the moment at which it is seen, though some may still run the old code.
        """
        if self._stamps == [_stamp(path) for path in self._files.values()]:
            return False
        self._take()
        return True

    def _take(self) -> None:
        parts = _parts(self._simulator)
        self._files = parts.files
        self._stamps = [_stamp(path) for path in self._files.values()]
        digests = {name: _digests(path, parts.imported) for name, path in self._files.items()}
        self.source = Source(parts.asked, digests | parts.texts)


def modules_of(simulator: Callable[..., Any]) -> Modules:
    """Return the digests of the modules that a simulator is made of; a program has none, and the
    module that is run as the program is sent along with its functions.
    """
    parts = _parts(simulator)
    if not parts.imported:
        return {}
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return {
        ".".join(Path(name).with_suffix("").parts).removesuffix(".__init__"): _digests(path, True)
        for name, path in parts.files.items()
        if main is None or path != Path(main).resolve()
    }


def differing(wanted: Modules) -> list[str]:
    """Return the names of modules that were loaded in this process from other code than is wanted.

    Modules that are not loaded, or whose files cannot be read, are not compared.
    """
    return [
        name
        for name, digests in wanted.items()
        if UNREADABLE not in (*digests, *(here := _as_loaded(name)))
        and here
        and not set(here) & set(digests)
    ]


_loaded: dict[str, tuple[Any, list[str]]] = {}  # by module: what stands for an import, and digests


def _as_loaded(name: str) -> list[str]:
    """Return the digests of a module's file as of when this process was first asked for them.

    A worker is asked as soon as it has imported the module. What is in the file later is not what
    it runs, until it imports the module anew.
    """
    module = sys.modules.get(name)
    spec, path = getattr(module, "__spec__", None), Path(getattr(module, "__file__", None) or "")
    if spec is None or path.suffix != ".py":
        return []
    if name not in _loaded or _loaded[name][0] is not spec:
        _loaded[name] = (spec, _digests(path, imported=True))
    return _loaded[name][1]


def _parts(simulator: Callable[..., Any]) -> _Parts:
    *outer, inner = _layers(simulator)
    if isinstance(inner, CommandSimulator):
        return _of_command(inner)
    given, files = list[str](), Files()
    for layer in outer:
        if isinstance(layer, functools.partial):
            given += [f"{one!r}" for one in layer.args if isinstance(one, PLAIN)]
            given += [f"{k}={one!r}" for k, one in layer.keywords.items() if isinstance(one, PLAIN)]
        if isinstance(layer, Named):  # later wrappers are no part of it
            files = _files_of(sys.modules.get(layer.module or ""))
        elif inspect.isroutine(layer):  # a decorator's; an object names its own function
            files |= _files_of(layer)
    more = {"given": given} if given else {}
    code = inner if inspect.isroutine(inner) or inspect.isclass(inner) else type(inner)
    own, name = _files_of(code), str(getattr(code, "__qualname__", type(code).__qualname__))
    module = getattr(code, "__module__", None) or "builtins"
    if own:
        home = next(iter(own.values())).stem if module == "__main__" else module
        return _Parts({"python": f"{home}:{name}"} | more, files | own, {})
    return _Parts({"python": f"{module}:{name}"} | more, files, {name: [_of_code(code)]})


def _layers(simulator: Callable[..., Any]) -> list[Any]:
    """Return a simulator and all that it wraps, innermost last."""
    found: list[Any] = [simulator]
    while len(found) < MOST_LAYERS:
        last = found[-1]
        if isinstance(last, functools.partial):
            found.append(last.func)
        elif hasattr(last, "__wrapped__"):
            found.append(last.__wrapped__)
        else:
            break
    return found


def _files_of(code: Any) -> Files:
    """Return the file of a function, class or module, and then the files that it imports from
    beside it."""
    try:
        path = Path(inspect.getsourcefile(code) or "").resolve()
    except TypeError:  # built in
        return {}
    if not path.is_file():
        return {}
    module = code.__name__ if inspect.ismodule(code) else code.__module__
    return _beside(path, _root(path, module or "builtins"))


def _of_code(code: Any) -> str:
    """Return the digest of a function that was typed in: of its text, or of its bytecode."""
    try:
        return _digest_of_text(inspect.getsource(code).encode())
    except (OSError, TypeError):
        own = getattr(code, "__code__", None)
        return _digest_of_text(own.co_code if own else repr(code).encode())


def _of_command(command: CommandSimulator) -> _Parts:
    asked: dict[str, Any] = {"command": command.arguments, "folder": command.folder}
    asked |= {key: getattr(command, key) for key in ("json_field", "file") if getattr(command, key)}
    files: Files = {}
    for place, argument in enumerate(command.arguments):
        for said in (argument, argument.partition("=")[2]):
            path = _named(said, command, is_program=place == 0)
            if path and not (place == 0 and INTERPRETERS.fullmatch(path.name)):
                files |= _beside(path, path.parent) if path.suffix == ".py" else {said: path}
        if argument == "-m" and place + 1 < len(command.arguments):
            for path in _modules(command.arguments[place + 1], command.working_folder):
                files |= _beside(path, command.working_folder)
    return _Parts(asked, files, {}, imported=False)


def _named(said: str, command: CommandSimulator, *, is_program: bool) -> Path | None:
    """Return the file that an argument names, as seen from where the program is started."""
    if not said or "\0" in said or FIELD.search(said):
        return None
    if is_program and os.sep not in said:
        found = shutil.which(said)
        return Path(found) if found else None
    path = Path(os.path.normpath(command.working_folder / said))
    try:
        return path if path.is_file() else None
    except OSError:  # a name that is too long, for example
        return None


def _root(path: Path, module: str) -> Path:
    """Return the folder in which the import of a module begins."""
    depth = module.count(".") + (path.stem == "__init__")
    return path.parent if module == "__main__" else path.parents[min(depth, len(path.parents) - 1)]


def _beside(path: Path, root: Path) -> Files:
    """Return a file of Python and all that it imports from below a folder, by their names there."""
    found: Files = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        name = os.path.relpath(file, root)
        if name in found or str(file.resolve()).startswith(INSTALLED):
            continue
        found[name] = file
        waiting += [own for said in _imports(file, root) for own in _modules(said, root)]
    return found


def _imports(file: Path, root: Path) -> Iterator[str]:
    """Yield the dotted names of all that a file of Python imports, wherever in it."""
    try:
        tree = _tree_of(file)
    except (SyntaxError, ValueError, RecursionError, OSError):
        return  # running it will report the mistake
    package = Path(os.path.relpath(file, root)).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            home = ".".join((*base, *([node.module] if node.module else [])))
            yield from (f"{home}.{alias.name}".lstrip(".") for alias in node.names)


def _modules(name: str, root: Path) -> Iterator[Path]:
    """Yield the files below a folder that the import of a dotted name runs."""
    place = root
    for part in name.split("."):
        if not part.isidentifier():
            return
        place = place / part
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.is_file():
                yield file


def _tree_of(path: Path) -> ast.Module:
    with _parsing:
        return ast.parse(path.read_bytes())


def _digests(path: Path, imported: bool) -> list[str]:
    """Return the digest of a file as it is and, for Python, of its code without remarks.

    Args:
        imported: leave out the code that runs only where the file is the program itself.
    """
    whole = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                whole.update(block)
        found = [whole.hexdigest()[:32]]
        if path.suffix == ".py":
            tree = _tree_of(path)
            if imported:
                tree.body = [one for one in tree.body if not _is_for_the_program(one)]
            found.append(_digest_of_text(ast.unparse(tree).encode()))
    except OSError:
        return [UNREADABLE]
    except (SyntaxError, ValueError, RecursionError):
        pass
    return found


def _is_for_the_program(statement: ast.stmt) -> bool:
    guard = ast.unparse(statement.test) if isinstance(statement, ast.If) else ""
    return guard == "__name__ == '__main__'"


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _digest_of_text(text: bytes) -> str:
    """Return a short digest of the content of a file."""
    return hashlib.sha256(text).hexdigest()[:32]
