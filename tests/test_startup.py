"""`narrate --help` waits for nothing it does not need: what the command line loads is on a list."""

from __future__ import annotations

import compileall
import subprocess
import sys
from pathlib import Path

import pytest
from console import environment

import narrator

OWN = {
    *("narrator", "narrator.errors", "narrator.cli"),
    *(f"narrator.cli.{name}" for name in ("batch", "check", "choices", "diff", "essay", "group", "lists", "models")),
    *(f"narrator.cli.{name}" for name in ("render", "show", "targets")),
}
"""Modules of ours that `import narrator.cli` loads, all of them."""
FOREIGN = {"typer", "annotated_doc", "shellingham"}
"""Packages that it loads beside the standard library: the library of the command line and what that one loads."""
JUDGING = FOREIGN | {"pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
"""What the library of the command line judges the values of options with, once a subcommand is named."""
AWAITED = {"asyncio", "ssl", "http.client", "sqlite3", "tomllib", "unittest", "multiprocessing"}
"""Parts of the standard library that would be felt."""
BUDGET = 0.150
"""Seconds of CPU for `narrate --help`, byte code compiled."""

LOADED = """
import sys
before = set(sys.modules)
{action}
print(*sorted(set(sys.modules) - before), file=sys.__stdout__)
"""
HELP = """
from narrator.cli import main
try: main({words!r})
except SystemExit: pass
"""


def loaded(action: str) -> set[str]:
    """What a fresh interpreter loads for `action`; its last line of output is ours."""
    code = LOADED.format(action=action.strip())
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    return set(ran.stdout.splitlines()[-1].split())


SAYING = OWN | {"narrator.cli.output"}


@pytest.mark.parametrize(
    ("action", "own", "foreign"),
    [
        pytest.param("import narrator.cli", OWN, FOREIGN, id="import narrator.cli"),
        pytest.param(HELP.format(words=["--help"]), SAYING, FOREIGN, id="narrate --help"),
        pytest.param(HELP.format(words=["--version"]), SAYING, JUDGING, id="narrate --version"),
        pytest.param(HELP.format(words=["show", "--help"]), SAYING, JUDGING, id="narrate show --help"),
        pytest.param(HELP.format(words=["render", "-h"]), SAYING, JUDGING, id="narrate render -h"),
        pytest.param(HELP.format(words=["--x"]), SAYING | {"narrator.sanitize"}, JUDGING, id="an error of usage"),
    ],
)
def test_the_command_line_loads_what_is_on_the_list_and_no_more(action: str, own: set[str], foreign: set[str]) -> None:
    modules = loaded(action)
    assert {name for name in modules if name.partition(".")[0] == "narrator"} == own
    roots = {name.partition(".")[0] for name in modules if not name.startswith("_")}
    assert roots - sys.stdlib_module_names - {"narrator"} <= foreign
    assert not AWAITED & modules


def test_the_list_sees_what_a_command_loads() -> None:
    modules = loaded(HELP.format(words=["styles"]))
    assert {"narrator.style", "pydantic", "tomllib"} <= modules


def test_help_takes_less_than_its_budget_of_cpu() -> None:
    compileall.compile_dir(str(Path(narrator.__file__).parent), quiet=2)
    program = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'narrator', '--help'], stdout=subprocess.DEVNULL, check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)\n"
    )

    def seconds() -> float:
        command = [sys.executable, "-c", program]
        return float(subprocess.run(command, env=environment(), capture_output=True, check=True).stdout)

    # The least of five: what else the machine does can only add to it.
    assert min(seconds() for _ in range(5)) < BUDGET
