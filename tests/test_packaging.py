"""What is built from this repository, installed somewhere else, and run from there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import environment
from recordings import assistant, export, user, write

import narrator
from narrator import assets

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("prompts", "templates")
"""Folders that stand beside the package in a checkout and inside it in a wheel."""


def command(*words: str | Path, cwd: Path, **env: str) -> str:
    """Run a program and give what it printed; no index is asked."""
    given = environment(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_CACHE_DIR="1", **env)
    ran = subprocess.run([str(word) for word in words], cwd=cwd, env=given, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{words}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is made from it."""
    folder = tmp_path_factory.mktemp("dist")
    command(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    (path,) = built.glob("*.tar.gz")
    return path


def shipped() -> Iterator[str]:
    """Files that a wheel has to hold, as they are named inside it."""
    for top in ("narrator", *PARTS):
        for path in (ROOT / top).rglob("*"):
            inside = path.relative_to(ROOT)
            if path.is_file() and "__pycache__" not in inside.parts:
                yield (Path("narrator") / inside if top in PARTS else inside).as_posix()


def test_the_wheel_holds_the_package_with_its_prompts_and_templates_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    inside = {name for name in names if not name.startswith(f"narrate-{narrator.__version__}.dist-info/")}
    assert inside == set(shipped())
    assert {"narrator/py.typed", "narrator/prompts/essay/style.toml", "narrator/templates/article/style.css"} <= inside
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_holds_what_the_repository_holds_and_nothing_that_it_ignores(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    package = {path.removeprefix("narrator/") if path.split("/")[1] in PARTS else path for path in shipped()}
    assert package <= names
    assert {"README.md", "LICENSE", "pyproject.toml", "examples/glm5-144.json", "tests/test_packaging.py"} <= names
    ignored = {
        ".venv",
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".coverage",
        "drafts",
        "dist",
        ".git",
    }
    assert not [name for name in names if ignored & set(name.split("/"))]


def new_environment(folder: Path) -> Path:
    """A virtual environment with nothing in it, and its interpreter."""
    venv.create(folder, symlinks=True, with_pip=False)
    return folder / "bin" / "python"


def install(python: Path, what: Path, *how: str) -> None:
    """Install into the environment of `python` without an index; the build backend is the one that runs these tests."""
    here = sysconfig.get_path("purelib")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "-q", "--ignore-installed")
    seen = os.pathsep.join(filter(None, sys.path))
    command(*pip, "--no-deps", "--no-build-isolation", *how, what, cwd=python.parent, PYTHONPATH=seen)
    # What narrate depends on stands in the environment of these tests. A path file comes after its own packages, and
    # does not carry an editable install over from there.
    site = python.parent.parent / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (site / "dependencies.pth").write_text(f"{here}\n{sysconfig.get_path('platlib')}\n", "utf-8")


@pytest.mark.parametrize("kind", ["wheel", "sdist", "editable"])
def test_it_runs_from_another_folder_when_installed_from(
    kind: str, wheel: Path, sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    python = new_environment(tmp_path / "venv")
    if kind == "editable":
        pytest.importorskip("editables", reason="the build backend makes editable installs with `editables`")
        install(python, ROOT, "--editable")
    else:
        install(python, wheel if kind == "wheel" else sdist)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere, export(user("Please fix the test."), assistant("It fails.")), "tiny.json")
    where = command(python, "-c", "import narrator; print(narrator.__file__)", cwd=elsewhere).strip()
    assert Path(where).is_relative_to(ROOT if kind == "editable" else tmp_path / "venv"), where
    narrate = python.with_name("narrate")
    assert command(narrate, "--version", cwd=elsewhere) == f"narrate {narrator.__version__}\n"
    assert command(narrate, "styles", cwd=elsewhere).startswith("essay\t")
    assert command(narrate, "themes", cwd=elsewhere) == "article\n"
    assert command(narrate, "--offline", "--msg", "1", "tiny.json", "-o", "x.html", cwd=elsewhere) == ""
    assert (elsewhere / "x.html").read_text("utf-8").startswith("<!doctype html>")
    assert len(list((elsewhere / "drafts").rglob("1-essay.json"))) == 1
    assert sorted(path.name for path in elsewhere.iterdir()) == ["drafts", "tiny.json", "x.html"]


def layout(folder: Path, *, checkout: bool, inside: bool) -> Path:
    """A package as it lies in a checkout, in a wheel, or in both at once."""
    package = folder / "narrator"
    for place, wanted in ((folder, checkout), (package, inside)):
        if wanted:
            (place / "prompts" / "essay").mkdir(parents=True)
            (place / "prompts" / "_shared").mkdir()
            (place / "prompts" / "notes.txt").write_text("no style", "utf-8")
    if checkout:
        (folder / "pyproject.toml").write_text("", "utf-8")
    return package


@pytest.mark.parametrize(
    ("checkout", "inside", "expected"),
    [
        pytest.param(True, False, "prompts", id="a checkout"),
        pytest.param(False, True, "narrator/prompts", id="a wheel"),
        pytest.param(True, True, "prompts", id="a checkout with a stale copy in it"),
    ],
)
def test_prompts_and_templates_are_found(
    checkout: bool, inside: bool, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = layout(tmp_path, checkout=checkout, inside=inside)
    monkeypatch.setattr(assets, "__file__", str(package / "assets.py"))
    assert assets.asset_folder("prompts") == tmp_path / expected
    assert assets.folders("prompts") == {"essay": tmp_path / expected / "essay"}


def test_a_folder_of_prompts_beside_an_installed_package_is_somebody_else_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = layout(tmp_path, checkout=False, inside=True)
    (tmp_path / "prompts" / "theirs").mkdir(parents=True)
    monkeypatch.setattr(assets, "__file__", str(package / "assets.py"))
    assert list(assets.folders("prompts")) == ["essay"]
