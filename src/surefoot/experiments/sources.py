"""A digest of the sources that decide a figure, so that no figure outlives its code.

A definition of a module (a function, a class, a constant) rests on all that it names, wherever that
is defined in surefoot, and so on. Comments, docstrings, annotations, the texts of errors and the
layout of lines do not count, nor do the modules that only show, keep or name what was found. Names
that are looked up at run time, such as those of algorithms, are not seen: give them as roots.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import surefoot

PACKAGE = Path(surefoot.__file__).parent
SILENT = (  # modules that decide no figure
    "surefoot.commands",
    "surefoot.view",
    "surefoot.system",
    "surefoot.errors",
    "surefoot.problem.tables",
    "surefoot.algorithms.result",
    "surefoot.algorithms.settings",  # the code of a row holds its settings
    "surefoot.algorithms.verdict",
    "surefoot.experiments.publication",
    "surefoot.experiments.session",
)
UNREAD = {"annotation", "returns", "ctx", "kind", "type_comment", "type_params"}
Place = tuple[str, str]  # a module, and a name in it


def digest(*roots: str) -> str:
    """Return a digest of all definitions that these rest on, such as "surefoot.simulate:identify".

    A root without a name stands for all of its module. Definitions may move and be renamed: they
    are told apart by their contents, not by their names.
    """
    texts = sorted(_text_of(*place, deep=True) for place in _definitions(*roots))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _definitions(*roots: str) -> list[Place]:
    """Return the places of all definitions that these rest on, in order."""
    found: set[Place] = set()
    left: list[Place] = []
    for root in roots:
        module, _, name = root.partition(":")
        if module == surefoot.__name__ and name in dir(surefoot):
            module = getattr(surefoot, name).__module__
        if name and _path(f"{module}.{name}") is not None:
            module, name = f"{module}.{name}", ""  # a module of a package
        known = _module(module)
        if name and name not in known.defined and name not in known.imported:
            raise ValueError(f"{root} is not defined: give the name of a definition of {module}")
        left += [(module, n) for n in ([name] if name else [*known.defined, *known.imported])]
    while left:
        asked = left.pop()
        place = _home(*asked)
        if place is not None and place not in found:
            found.add(place)
            left += _named(*place)
    return sorted(found)


class _Module:
    """Definitions of a module, and the places that its imported names come from."""

    def __init__(self, path: Path) -> None:
        self.defined: dict[str, list[ast.stmt]] = {}
        self.imported: dict[str, Place] = {}
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for name in _names_of(node):
                self.defined.setdefault(name, []).append(node)
            self.imported |= dict(_imports(node))


@functools.cache
def _module(name: str) -> _Module:
    path = _path(name)
    if path is None:
        raise ValueError(f"{name} is no module of surefoot: give its dotted name")
    return _Module(path)


@functools.cache
def _path(module: str) -> Path | None:
    if module.split(".")[0] != surefoot.__name__:
        return None
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return next((f for f in (place.with_suffix(".py"), place / "__init__.py") if f.exists()), None)


@functools.cache
def _home(module: str, name: str) -> Place | None:
    """Return the place of a name, if it is surefoot's and may decide something."""
    for _ in range(9):
        if _path(module) is None or module.startswith(SILENT):
            return None
        known = _module(module)
        if name in known.defined:
            return module, name
        if name not in known.imported:
            return None
        module, name = known.imported[name]
    return None


@functools.cache
def _text_of(module: str, name: str, deep: bool) -> str:
    """Return a definition as text that does not depend on Python's version.

    Names of other definitions stand for the contents of these, if `deep`, else for nothing.
    """

    def referred(node: ast.AST) -> str | None:
        place = _referred(node, module, inner)
        if place is None:
            return None
        return _mark(*place) if deep else "@"

    texts = []
    for top in _module(module).defined[name]:
        inner = _imported_within(top)
        texts.append(_text(top, referred, top=True))
    return "".join(texts)


@functools.cache
def _mark(module: str, name: str) -> str:
    whole = hashlib.sha256(_text_of(module, name, deep=False).encode())
    return f"@{whole.hexdigest()[:12]}"


def _imported_within(top: ast.stmt) -> dict[str, Place]:
    return {name: place for node in ast.walk(top) for name, place in _imports(node)}


def _referred(node: ast.AST, module: str, inner: dict[str, Place]) -> Place | None:
    """Return the definition that a node names, if it is surefoot's and may decide something."""
    if isinstance(node, ast.Name):
        return _home(*inner.get(node.id, (module, node.id)))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        where = (_module(module).imported | inner).get(node.value.id)
        if where is not None and _path(f"{where[0]}.{where[1]}") is not None:
            return _home(f"{where[0]}.{where[1]}", node.attr)  # of a module that was imported
    return None


@functools.cache
def _named(module: str, name: str) -> frozenset[Place]:
    """Return the definitions that a definition names."""
    found = set()
    for top in _module(module).defined[name]:
        inner = _imported_within(top)
        found |= {_referred(node, module, inner) for node in _read(top)}
    return frozenset(place for place in found if place is not None)


def _names_of(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))


def _imports(node: ast.AST) -> Iterator[tuple[str, Place]]:
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from ((a.asname or a.name, (node.module, a.name)) for a in node.names)
    elif isinstance(node, ast.If):  # of types
        for inner in node.body:
            yield from _imports(inner)


def _read(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a tree without the parts that decide nothing."""
    yield node
    if isinstance(node, ast.Raise):
        return
    for field, value in ast.iter_fields(node):
        if field in UNREAD:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_document(child):
                yield from _read(child)


def _text(node: ast.AST, referred: Callable[[ast.AST], str | None], top: bool = False) -> str:
    """Return a tree as text; `referred` gives the replacement of a definition's name."""
    if isinstance(node, ast.Raise):
        return "Raise()"
    if isinstance(node, ast.Import | ast.ImportFrom):
        return ""
    mark = referred(node)
    if mark is not None:
        return mark
    parts = []
    for field, value in ast.iter_fields(node):
        if field not in UNREAD and not (top and field == "name"):
            children = value if isinstance(value, list) else [value]
            parts += [
                _text(child, referred) if isinstance(child, ast.AST) else repr(child)
                for child in children
                if not _is_document(child)
            ]
    return f"{type(node).__name__}({','.join(parts)})"


def _is_document(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
