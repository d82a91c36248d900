"""Everything that the README and the docs show runs and prints what they say; the docs build
without a warning.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from surefoot.algorithms import ALGORITHMS, StopReason
from surefoot.cli import COMMANDS
from surefoot.study.toml.sections import Config, RunSection, SimulatorSection
from surefoot.study.toml.space import Arms, Perturbations
from surefoot.testing import AlgorithmSuite
from tests.browser import PHONE, Watched, launched
from tests.documents import PAGES, ROOT, Output, page_module, run_page

RUNNABLE = [
    path for path in PAGES if re.search(r"^```(python|console)$", path.read_text(), re.MULTILINE)
]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """An empty folder and a module that stands for `__main__`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    module = page_module()
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return module


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_runs_and_prints_what_it_shows(path: Path, page: types.ModuleType) -> None:
    outputs = list(run_page(path.read_text(), vars(page)))
    wrong = [
        f"shown:\n{output.shown}printed:\n{output.printed}"
        for output in outputs
        if not output.right
    ]
    assert not wrong, "\n".join(
        [*wrong, f"`python -m tests.documents {path.relative_to(ROOT)}` rewrites the outputs"]
    )


SUITE = [
    name
    for name, function in inspect.getmembers(AlgorithmSuite, inspect.isfunction)
    if name.startswith("test_") and list(inspect.signature(function).parameters) == ["self"]
]


@pytest.fixture(scope="module")
def own_algorithm() -> Any:
    """The class that the page on extending writes."""
    text = (ROOT / "docs" / "extend.md").read_text()
    module = types.ModuleType("surefoot.algorithms.doubling")
    first_block = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert first_block is not None
    sys.modules[module.__name__] = module
    exec(first_block[1], vars(module))
    ALGORITHMS["doubling"] = ("doubling", "Doubling")
    yield module.Doubling
    del ALGORITHMS["doubling"], sys.modules[module.__name__]


@pytest.mark.parametrize("test", SUITE)
def test_the_algorithm_that_the_docs_write_passes_the_suite(test: str, own_algorithm: Any) -> None:
    class Suite(AlgorithmSuite):
        def make(self, instance: object) -> Any:
            return own_algorithm()

    getattr(Suite(), test)()


@pytest.mark.parametrize(
    "section", [Config, Arms, Perturbations, SimulatorSection, RunSection], ids=lambda s: s.__name__
)
def test_every_key_of_a_configuration_is_on_its_page(section: type[BaseModel]) -> None:
    text = (ROOT / "docs" / "study-toml.md").read_text()
    keys = [field.alias or name for name, field in section.model_fields.items()]
    assert [key for key in keys if f"`{key}`" not in text and f"`[{key}]`" not in text] == []


def test_the_suite_is_found() -> None:
    assert len(SUITE) >= 20


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The docs as HTML, built without a warning."""
    folder = tmp_path_factory.mktemp("docs")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*build, "-d", folder / "trees", ROOT / "docs", folder / "html"], capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    return folder / "html"


def test_the_docs_build_without_a_warning(site: Path) -> None:
    assert "RobustProblem" in (site / "api.html").read_text()


@pytest.mark.browser
def test_pages_fit_a_phone_and_fetch_nothing(site: Path) -> None:
    pages = [
        path for path in PAGES if path.is_relative_to(ROOT / "docs") and path.name != "changelog.md"
    ]
    wide = []
    with launched() as browser, Watched(browser, f"file://{site}", PHONE) as watched:
        for path in pages:
            name = path.relative_to(ROOT / "docs").with_suffix(".html")
            watched.page.goto(f"file://{site / name}")
            wide += [str(name)] if watched.overflows() else []
        assert not watched.trouble
    assert not wide


@pytest.mark.browser
def test_formulas_are_drawn_without_a_network(site: Path) -> None:
    with launched() as browser, Watched(browser, f"file://{site}") as watched:
        for name in ("errata", "prime", "complexity", "designs"):
            formulas = (ROOT / "docs" / f"{name}.md").read_text().count("$$") // 2
            watched.page.goto(f"file://{site / name}.html")
            watched.page.wait_for_selector("mjx-container svg")
            watched.page.wait_for_function("MathJax.startup.promise.then(() => true)")
            drawn = watched.page.locator('mjx-container[display="true"] svg').count()
            assert not watched.page.locator("[data-mjx-error]").count()
            assert not watched.trouble
            assert drawn == formulas > 0, name


def test_the_index_says_one_sentence_about_every_page() -> None:
    text = (ROOT / "docs" / "index.md").read_text()
    text = text.replace("\n  ", " ")  # an entry may go on in a second line
    described = set(re.findall(r"^- \[[^]]+\]\(([^)]+)\): .+\.$", text, re.MULTILINE))
    pages = {str(path.relative_to(ROOT / "docs")) for path in PAGES[1:]} - {"index.md"}
    assert described == pages


def test_every_local_link_of_the_readme_leads_somewhere() -> None:
    text = (ROOT / "README.md").read_text()
    links = [
        link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if not link.startswith("http")
    ]
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_the_call_of_the_readme_is_short() -> None:
    """At most ten lines besides imports and the simulator, and 25 with the simulator."""
    code = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)[0]
    imports, simulator, call = re.split(r"\n(?=def |answer =)", code)
    assert imports.count("import") == 2
    assert len(call.strip().splitlines()) <= 10
    assert len(re.findall(r"^.*\S", simulator + call, re.M)) <= 25


def test_every_command_is_described() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    assert not [name for name in COMMANDS if f"surefoot {name}" not in text]


def test_every_test_that_the_proof_names_is_there() -> None:
    pages = (ROOT / "docs" / name for name in ("certificate.md", "prime.md"))
    named = {name for page in pages for name in re.findall(r"`(test_\w+)`", page.read_text())}
    sources = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    there = {
        name for text in sources for name in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)
    }
    assert len(named) > 20
    assert not named - there


def test_every_reason_to_stop_is_described() -> None:
    text = (ROOT / "docs" / "guides" / "certificate.md").read_text()
    certified = {True: "yes", False: "no"}
    rows = [f"| `{reason.name}` | {certified[reason.certifies]} |" for reason in StopReason]
    assert not [row for row in rows if row not in text]


@pytest.mark.parametrize(
    ("shown", "printed", "right"),
    [
        ("as it is\n", "as it is\n\n", True),
        ("as it is\n", "as it is not\n", False),
        ("", "something\n", False),
        ("after … pulls\n", "after a few pulls\n", True),
        ("after … pulls\n", "after a few looks\n", False),
        ("after 12 pulls, p = 0.3\n", "after 108 pulls, p = 1e-05\n", True),
        ("gain=2 is best\n", "gain=1.5 is best\n", False),
        ("arm  pulls\n  A  12.5\n", "arm pulls\n  A     7\n  A    -9\n", True),
        ("arm  pulls\n  A  12.5\n", "arm pulls\n  A     7\n  B    -9\n", False),
    ],
)
def test_words_names_and_layout_must_agree(shown: str, printed: str, right: bool) -> None:
    assert Output(0, len(shown), shown, printed).right is right


def test_pages_are_rewritten_to_the_last_digit() -> None:
    assert not Output(0, 3, "12\n", "13\n").exact
    assert Output(0, 3, "12\n", "12\n").exact


def test_files_hidden_code_and_sessions(page: types.ModuleType) -> None:
    text = (
        "<!-- before\nx = 2\n-->\n```python\n# mine.py\ny = 3\n```\n"
        "```python\nfrom mine import y\nprint(x * y)\n```\n\n"
        "```text\n6\n```\n```console\n$ cat mine.py\n# mine.py\ny = mine\n$ echo "
        "two; echo lines\n…\nlines\n```\n"
        "```sh\nexit 1\n```\n"
    )
    outputs = list(run_page(text, vars(page)))
    assert [output.right for output in outputs] == [True, False, True]
    assert text[outputs[0].start : outputs[0].end] == "6\n"
    sys.modules.pop("mine")


def test_a_command_that_fails_is_noticed(page: types.ModuleType) -> None:
    with pytest.raises(AssertionError, match="false failed"):
        list(run_page("```console\n$ false\n```\n", {}))
