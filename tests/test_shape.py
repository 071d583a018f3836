"""The shape of the code: who may import whom, how long things are, what they are called, what the README names."""

from __future__ import annotations

import ast
import fnmatch
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from narrator import errors
from narrator.assets import folders
from narrator.cli import app
from narrator.cli.group import DEFAULT
from narrator.formats import find_formats

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "narrator"
LAYERS = (
    *(
        "errors",
        "record",
        "report",
        "source",
        "mending",
        "document",
        "codes",
        "skims",
        "shelf",
        "blocks",
        "kept",
        "changes",
        "session",
        "traits",
        "clock",
    ),
    *("tokens", "assets", "language", "sanitize", "redact"),
    *(
        "formats",
        "findings",
        "targets",
        "passages",
        "repeats",
        "shortening",
        "gist",
        "excerpt",
        "subjects",
        "milestones",
        "segments",
        "sayings",
        "choice",
        "outline",
        "bearing",
        "window",
        "context",
        "search",
        "lookup",
        "manifest",
        "style",
        "templates",
        "prompt",
        "fingerprint",
        "citations",
        "disk",
        "draft",
        "prices",
    ),
    *(
        "reply",
        "steps",
        "model",
        "markdown",
        "sections",
        "verify",
        "repair",
        "offline",
        "places",
        "notes",
        "doubts",
        "typeset",
        "exhibits",
        "render",
        "pipeline",
        "asking",
        "shrinking",
        "redo",
        "comparison",
        "batch",
        "cli",
        "__main__",
    ),
)
"""From the ground up; a package is one entry. Each imports only from those before it, and within itself."""
LONGEST_MODULE, LONGEST_BODY = 300, 40
"""Lines."""
VAGUE = {"utils", "util", "helpers", "helper", "types", "base", "manager", "common", "misc", "core"}

MODULES = sorted(PACKAGE.rglob("*.py"))
EVERY_MODULE = pytest.mark.parametrize("path", [pytest.param(p, id=p.relative_to(PACKAGE).as_posix()) for p in MODULES])


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def layer(path: Path) -> str:
    """Name of the layer a module belongs to; "" for the package's own `__init__`."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imports(path: Path) -> Iterator[str]:
    """Our modules that a module imports, inside its functions too, as dotted names below `narrator`."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import hides where a thing is from"
            module = node.module or ""
            below = [name for alias in node.names if is_module(name := f"{module}.{alias.name}")]
            names = below or [module]
        else:
            continue
        yield from (name.removeprefix("narrator").lstrip(".") for name in names if name.partition(".")[0] == "narrator")


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@EVERY_MODULE
def test_a_module_imports_only_from_the_layers_above_it(path: Path) -> None:
    own = layer(path)
    imported = {name.partition(".")[0] for name in imports(path)} - {"", own}
    if own == "":
        assert not imported
        return
    assert own in LAYERS, f"narrator/{own} is on no layer: put it into LAYERS"
    assert imported <= set(LAYERS[: LAYERS.index(own)])


def test_the_list_of_layers_names_what_is_there_and_nothing_else() -> None:
    assert {layer(path) for path in MODULES} - {""} == set(LAYERS)


def test_a_format_knows_no_other_format() -> None:
    for path in MODULES:
        place = path.relative_to(PACKAGE).parts
        if place[0] == "formats" and place[1].removesuffix(".py").lstrip("_") not in {"init__", "lenient"}:
            own = f"formats.{place[1].removesuffix('.py')}"
            others = {name for name in imports(path) if name.startswith("formats.") and not name.startswith(own)}
            assert others <= {"formats._lenient"}, place


def test_only_the_model_knows_the_sdk_and_only_the_command_line_prints() -> None:
    for path in MODULES:
        tree = ast.walk(parsed(path))
        names = {alias.name for node in tree if isinstance(node, ast.Import) for alias in node.names}
        calls = {node.func for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)}
        called = {ast.unparse(call) for call in calls}
        if layer(path) != "model":
            assert not names & {"openai", "httpx2", "tenacity"}, path
        if layer(path) != "cli":
            assert not called & {"print", "sys.exit", "exit", "typer.echo", "sys.stdout.write", "sys.stderr.write"}, (
                path
            )


@EVERY_MODULE
def test_a_module_is_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST_MODULE


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@EVERY_MODULE
def test_a_function_is_seen_at_one_glance(path: Path) -> None:
    for function in functions(path):
        body = function.body[1:] if ast.get_docstring(function) is not None else function.body
        lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
        assert lines <= LONGEST_BODY, f"{function.name}, line {function.lineno}: {lines} lines"


def public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """What a module offers, and what its public classes do."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name[0] != "_":
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


@EVERY_MODULE
def test_what_is_public_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(parsed(path)), "the module"
    for node in public(parsed(path).body):
        assert ast.get_docstring(node), f"{node.name}, line {node.lineno}"


@EVERY_MODULE
def test_no_handler_catches_everything(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "everything"
            assert not re.search(r"\b(?:Base)?Exception\b|everything", caught), f"line {node.lineno}: {caught}"


@EVERY_MODULE
def test_a_module_is_named_after_what_it_holds(path: Path) -> None:
    assert not VAGUE & set(path.relative_to(PACKAGE).with_suffix("").parts)


@EVERY_MODULE
def test_nothing_is_put_off(path: Path) -> None:
    assert not re.search(r"\b(?:TODO|FIXME|XXX|HACK|NotImplementedError)\b", path.read_text("utf-8"))


# ---- the tree of errors ------------------------------------------------------------------------------------------


def drawn() -> Iterator[tuple[str, str | None, int]]:
    """Name, parent and exit code of each error in the drawing of the module's docstring."""
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"([\s│├└─]*)(\w+Error)\s+(\d|exit)", line):
            depth = len(found[1])
            above = [entry for entry in above if entry[0] < depth]
            yield found[2], above[-1][1] if above else None, 1 if found[3] == "exit" else int(found[3])
            above.append((depth, found[2]))


def raised() -> set[tuple[str, str | None, int]]:
    found = {value for value in vars(errors).values() if isinstance(value, type)}
    ours = {kind for kind in found if issubclass(kind, errors.NarratorError)}
    assert all(len(kind.__bases__) == 1 for kind in ours)
    top = errors.NarratorError
    return {(kind.__name__, None if kind is top else kind.__bases__[0].__name__, kind.exit_code) for kind in ours}


def test_the_tree_of_errors_is_the_one_that_is_drawn() -> None:
    assert len(list(drawn())) == 14
    assert set(drawn()) == raised()


def test_every_error_that_is_raised_is_in_the_tree() -> None:
    names = {name for name, _, _ in raised()}
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and any(base in names for base in map(ast.unparse, node.bases)):
                assert path.stem == "errors", f"{node.name} stands outside the tree"


# ---- what people read --------------------------------------------------------------------------------------------


def readme() -> str:
    return (ROOT / "README.md").read_text("utf-8")


def commands() -> set[str]:
    names = {command.name for command in app.registered_commands}
    assert DEFAULT in names
    return {str(name) for name in names}


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(f"narrate {name}", id=f"command {name}") for name in sorted(commands())),
        *(pytest.param(name, id=f"style {name}") for name in folders("prompts")),
        *(pytest.param(name, id=f"theme {name}") for name in folders("templates")),
        *(pytest.param(name, id=f"format {name}") for name in find_formats()),
    ],
)
def test_the_readme_names_it(name: str) -> None:
    named = re.findall(r"`([^`\n]+)`", readme())
    assert any(text == name or text.startswith(f"{name} ") for text in named)


def test_the_readme_gives_the_exit_codes_of_the_errors() -> None:
    sentence = re.search(r"Exit codes: (.*?)\.", readme(), re.DOTALL)
    assert sentence
    told = {int(code) for code in re.findall(r"\b\d+\b", sentence[1])}
    assert told == {code for name, _, code in raised() if name != "NarratorError"} | {0, 1, 130, 141}


def start_blocks() -> list[str]:
    section = re.search(r"^## Start\n(.*?)(?=^## |\Z)", readme(), re.MULTILINE | re.DOTALL)
    assert section
    return re.findall(r"^```sh\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)


def test_the_start_section_holds_two_commands_of_one_line_each() -> None:
    assert [block.count("\n") for block in start_blocks()] == [1, 1]


def test_ci_runs_the_second_of_them_as_it_stands() -> None:
    gate = (ROOT / ".ci" / "run").read_text("utf-8")
    reading = re.search(r"awk '[^']+' README\.md", gate)
    assert reading, "it has to be read from the README"
    taken = subprocess.run(["sh", "-c", reading[0]], cwd=ROOT, capture_output=True, text=True, check=True)
    assert taken.stdout == start_blocks()[1]
    assert start_blocks()[1].strip() not in gate


def test_the_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", readme()):
        assert (ROOT / target).exists(), target


# ---- what is in the tree -----------------------------------------------------------------------------------------


def ignored() -> list[str]:
    lines = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    return [line.strip("/") for line in lines if line and not line.startswith("#")]


def kept() -> Iterator[Path]:
    """The files of the repository: all but git's own and what `.gitignore` names."""
    patterns = [*ignored(), ".git"]
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and not any(fnmatch.fnmatch(part, pattern) for part in parts for pattern in patterns):
            yield path


def test_what_a_working_tree_gathers_is_ignored() -> None:
    gathered = {".venv", "__pycache__", "*.pyc", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".coverage", "drafts"}
    assert gathered <= set(ignored())


def test_nothing_of_this_machine_is_in_the_tree() -> None:
    # Written so that this file does not hold what it looks for.
    index = r"inde[x]-url|registr[y] = \"http|\"resolve[d]\": \"http|ur[l] = \"http|pypi\.or[g]/simple"
    # The parent alone may be `/root` or `/tmp`, which stand in recordings.
    here = "|".join(re.escape(str(path)) for path in (ROOT, ROOT.parent / "shared"))
    pattern = re.compile(f"{index}|{here}".encode())
    leaks = [path.relative_to(ROOT).as_posix() for path in kept() if pattern.search(path.read_bytes())]
    assert leaks == []


def test_texts_end_their_lines_as_unix_does() -> None:
    for path in kept():
        data = path.read_bytes()
        if b"\0" not in data and "cases" not in path.parts and path.suffix != ".json":
            assert b"\r\n" not in data, path
            assert data.endswith(b"\n") or not data, path


def test_no_group_of_a_pattern_is_possessive() -> None:
    """Before Python 3.11.5 such a group may end too early (CPython issue 106052)."""
    sources = {path.name: path.read_text("utf-8") for path in (ROOT / "narrator").rglob("*.py")}
    assert [name for name, text in sources.items() if re.search(r"(?<!\\)(?<!\[)\)[*+?]\+", text)] == []
