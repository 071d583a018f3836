"""The command line as its contract has it: exit codes, streams, files, JSON shapes, who writes."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import pytest
from console import GOOD_ESSAY, environment, good_answer, run
from endpoint import Answer, Loopback, as_json, completion, essay_stream
from recordings import SHARED, assistant, export, reasoning, tool, user, write

from narrator import __version__
from narrator.cli import main, output
from narrator.errors import DraftError
from narrator.model import retry
from narrator.source import Source

NOTE = "OPENAI_API_KEY"
"""What the note of the offline writer names."""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def session() -> str:
    """`session.json` in the current folder: four messages, the second of them with findings."""
    document = export(
        user("Please fix the test."),
        assistant(reasoning("hm"), tool(output="1 failed\n", metadata={"exit": 1}), "It fails.", id="msg_aa01"),
        user("continue", id="msg_aa02"),
        assistant("Sorted; it passes."),
    )
    write(Path(), document)
    return "session.json"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(good_answer()) as server:
        yield server


def files() -> set[str]:
    """What stands in the current folder beside the session."""
    return {path.as_posix() for path in Path().rglob("*") if path.is_file()} - {"session.json"}


def slug_of(draft: str) -> str:
    return Path(draft).parent.name


def draft_of(ran_err: str) -> str:
    found = re.search(r"^narrate: saved (\S+)$", ran_err, re.MULTILINE)
    assert found, ran_err
    return found[1]


# ---- usage: exit 2, one line, nothing sent -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["session.json"], "Missing option '--msg'; see `narrate --help`", id="no --msg"),
        pytest.param(["--msg", "1"], "Missing argument 'SESSION'; see `narrate --help`", id="no session"),
        pytest.param(["session.json", "--msg"], "Option '--msg' requires an argument", id="no value"),
        pytest.param(["--msg", "1", "session.json", "b"], "unexpected extra argument.* \\(b\\)", id="two sessions"),
        pytest.param(["--msg", "1", "session.json", "--bogus"], "No such option: --bogus", id="an unknown option"),
        pytest.param(["--msgs", "1", "session.json"], "No such option: --msgs .*--msg", id="an option misspelt"),
        pytest.param(["show", "session.json", "--bogus"], "--bogus; see `narrate show --help`", id="of a command"),
        pytest.param(["render"], "Missing argument 'DRAFT...'; see `narrate render --help`", id="no draft"),
        pytest.param(["styles", "x"], "unexpected extra argument.* \\(x\\); see `narrate styles", id="a word too many"),
        pytest.param(["shwo", "session.json"], "'shwo'; did you mean `narrate show`\\?$", id="a command misspelt"),
        pytest.param(["stiles"], "did you mean `narrate styles`", id="another"),
        pytest.param(
            ["--length", "5", "--msg", "1", "session.json"], "'--length': .*100.*'5'", id="too small a length"
        ),
        pytest.param(["--length", "x", "--msg", "1", "session.json"], "'--length': .*integer.*'x'", id="no number"),
        pytest.param(["--timeout", "0", "--msg", "1", "session.json"], "'--timeout': .*'0'", id="no time"),
        pytest.param(["--timeout", "nan", "--msg", "1", "session.json"], "--timeout.*nan", id="no time at all"),
        pytest.param(
            ["--max-output-tokens", "0", "--msg", "1", "session.json"], "--max-output-tokens.*0", id="no room"
        ),
        pytest.param(
            ["--before", "-1", "--msg", "1", "session.json"], "'--before': .*'-1'", id="fewer than none before"
        ),
        pytest.param(["--after", "-1", "--msg", "1", "session.json"], "'--after': .*'-1'", id="fewer than none after"),
        pytest.param(["--budget", "x", "--msg", "1", "session.json"], "'--budget': .*'x'", id="no budget"),
        pytest.param(["--budget", "5", "--msg", "1", "session.json"], "--budget 5: at least", id="too small a budget"),
        pytest.param(["--format", "pdf", "--msg", "1", "session.json"], "--format pdf: md or html", id="a format"),
        pytest.param(
            ["-o", "a.pdf", "--msg", "1", "session.json"], r"--output a\.pdf: .*\.md or \.html", id="a suffix"
        ),
        pytest.param(["-o", "a", "--msg", "1", "session.json"], "--output a: .*or give --format", id="no suffix"),
        pytest.param(
            ["--style", "x", "--msg", "1", "session.json"],
            "no style 'x'; there are: essay, brief, postmortem",
            id="a style",
        ),
        pytest.param(["--style", "", "--msg", "1", "session.json"], "no style ''; there are", id="an empty style"),
        pytest.param(
            ["--style", ".", "--msg", "1", "session.json"], "no style: the folder has no style", id="a folder"
        ),
        pytest.param(["--language", "", "--msg", "1", "session.json"], "--language '' is empty", id="no language"),
        pytest.param(["--language", "x1", "--msg", "1", "session.json"], "--language 'x1' is no", id="an odd language"),
        pytest.param(["--language", "xx", "--msg", "1", "session.json"], "--language 'xx' is a tag", id="an odd tag"),
        pytest.param(["--length", "", "--msg", "1", "session.json"], "'--length': .*integer", id="an empty length"),
        pytest.param(["--length", "90000", "--msg", "1", "session.json"], "'--length': .*20000.*'90000'", id="a book"),
        pytest.param(["--theme", "x", "--msg", "1", "session.json", "-o", "a.html"], "'x'.*article", id="a theme"),
        pytest.param(["--msg", "9", "session.json"], r"--msg 9: out of range.*0\.\.3", id="a number beyond"),
        pytest.param(
            ["--msg", "msg_aa", "session.json"], r"2 messages .*msg_aa01 \(1\), msg_aa02 \(2\)", id="a prefix of two"
        ),
        pytest.param(["--msg", "msg_zz", "session.json"], "--msg msg_zz: neither", id="an id that is not there"),
        pytest.param(["show", "session.json", "--msg", "9"], "--msg 9: out of range", id="the same for show"),
        pytest.param(["show", "gone.json"], "no such file: gone.json", id="no file for show"),
        pytest.param(
            ["--model", "m", "--msg", "1", "session.json"], "--model m: .*OPENAI_API_KEY", id="a model nowhere"
        ),
        pytest.param(
            ["--base-url", "x", "--msg", "1", "session.json"], "--base-url 'x': not an address", id="no address"
        ),
        pytest.param(
            ["--drafts", "session.json", "--msg", "1", "session.json"],
            "session.json is not a folder",
            id="drafts in a file",
        ),
        pytest.param(
            ["-o", "session.json/a.md", "--msg", "1", "session.json"],
            "session.json is not a folder",
            id="a page in a file",
        ),
    ],
)
@pytest.mark.usefixtures("session")
def test_a_call_that_cannot_be_is_one_line_that_says_so(words: list[str], says: str) -> None:
    ran = run(*words)
    assert ran.code == 2
    assert len(ran.lines) == 1
    assert re.search(says, ran.err), ran.err
    assert ran.out == ""
    assert files() == set()


STYLE = """\
version = "1"
says = "a haiku"
words = { least = 10, most = 20 }
citations = { least = 1, most = 3 }

[[sections]]
name = "all"
does = "Say it."
words = { least = 10, most = 20 }
"""


def own_style(folder: str, manifest: str = STYLE, **files: str) -> None:
    Path(folder).mkdir()
    for name, content in {"style.toml": manifest, **files}.items():
        (Path(folder) / name).write_text(content, "utf-8")


def test_a_style_of_one_s_own(session: str, server: Loopback) -> None:
    own_style("haiku")
    ran = run("--msg", "1", session, "--style", "haiku", "--base-url", server.url)
    assert ran.code == 0, ran.err
    assert Path(draft_of(ran.err)).name == "1-haiku.json"
    assert "in this form: a haiku." in server.requests[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("manifest", "templates", "says"),
    [
        pytest.param("colour = 1\n" + STYLE, {}, "own/style.toml, line 1: unknown key `colour`; there are: name,", id="an unknown key"),
        pytest.param(STYLE + "matter = 'causes'\n", {}, "own/style.toml, line 10: no matter 'causes' of section 1; there", id="an unknown matter"),
        pytest.param(STYLE.replace("10", "ten", 1), {}, "own/style.toml, line 3: no TOML: Invalid value", id="no TOML"),
        pytest.param(STYLE.partition("\n[[")[0], {}, "own/style.toml, line 1: `sections` is missing", id="no sections"),
        pytest.param(STYLE, {"rules.md.j2": "a\n{{ nothing }}"}, "own/rules.md.j2, line 2: 'nothing' is undefined", id="a name that is not there"),
        pytest.param(STYLE, {"rules.md.j2": "a\n{% for %}"}, "own/rules.md.j2, line 2: ", id="no template"),
        pytest.param(STYLE, {"rule.md.j2": "a"}, "own/rule.md.j2, line 1: no template uses rule.md.j2", id="a misspelt name"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_style_is_one_line(manifest: str, templates: dict[str, str], says: str, session: str) -> None:
    own_style("own", manifest, **templates)
    before = files()
    ran = run("--msg", "1", session, "--style", "own", "--offline")
    assert (ran.code, ran.out, len(ran.lines)) == (2, "", 1)
    assert ran.err.startswith(f"narrate: {says}")
    assert files() == before


@pytest.mark.usefixtures("session")
def test_nothing_is_sent_for_a_call_that_cannot_be(server: Loopback) -> None:
    (Path("taken.md")).write_text("mine", "utf-8")
    own_style("broken", "version = 1\n")
    own_style("later", STYLE, **{"repair.user.md.j2": "{{ nothing }}"})
    for words in (
        ["--msg", "9", "session.json"],
        ["--msg", "1", "gone.json"],
        ["--msg", "1", "session.json", "-o", "taken.md"],
        ["--msg", "1", "session.json", "-o", "taken.md/a.md"],
        ["--msg", "1", "session.json", "--drafts", "taken.md"],
        ["--msg", "1", "session.json", "--style", "x"],
        ["--msg", "1", "session.json", "--style", "broken"],
        ["--msg", "1", "session.json", "--style", "later"],
        ["--msg", "1", "session.json", "--language", "x1"],
        ["--msg", "1", "session.json", "-o", "a.html", "--theme", "x"],
        ["--msg", "1", "session.json", "--budget", "5"],
        ["--msg", "1", "session.json", "--lookups", "5"],
    ):
        assert run(*words, "--base-url", server.url).code == 2, words
    assert server.requests == []


def test_an_option_as_the_first_word_is_no_command_misspelt(session: str) -> None:
    for words in (["--format", "md"], ["--theme", "article"], ["--style", "essay"]):
        assert run(*words, "--msg", "1", session, "--no-save", "--offline").code == 0


# ---- help, version, lists ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["essay", "show", "targets", "diff", "render", "styles", "themes", "formats"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_help_with_one_example(command: str, option: str) -> None:
    ran = run(command, option)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: narrate {command} ")
    assert ran.out.count("Example: narrate ") == 1


def test_the_help_of_the_program_is_that_of_its_default_command_and_its_commands() -> None:
    ran = run("--help")
    assert (ran.code, ran.err) == (0, "")
    for text in (
        "--msg N",
        "--base-url",
        "--lookups",
        "--dry-run",
        "--version",
        "show",
        "render",
        "Example: narrate --msg 144",
    ):
        assert text in ran.out
    bare = run()
    assert (bare.code, bare.out, bare.err) == (2, ran.out, "")


def test_the_program_says_its_version() -> None:
    assert run("--version")[:2] == (0, f"narrate {__version__}\n")


@pytest.mark.parametrize(
    ("command", "line"),
    [
        pytest.param("styles", r"essay\tan analysis essay .+\t1100 to 1500 words", id="styles"),
        pytest.param("themes", r"article", id="themes"),
        pytest.param("formats", r"opencode\t\S.+", id="formats"),
    ],
)
def test_what_there_is_to_choose_from_is_listed_one_a_line(command: str, line: str) -> None:
    ran = run(command)
    assert (ran.code, ran.err) == (0, "")
    assert any(re.fullmatch(line, text) for text in ran.out.splitlines())


# ---- streams -----------------------------------------------------------------------------------------------------


def test_stdout_is_the_essay_and_nothing_else(session: str) -> None:
    ran = run("--msg", "1", session, "--no-save")
    assert ran.code == 0
    assert ran.out.startswith("# ")
    assert ran.out.endswith("\n")
    assert "narrate:" not in ran.out
    assert len(ran.lines) == 2  # written offline, and a short record
    assert NOTE in ran.err


def test_the_default_command_can_be_named(session: str) -> None:
    assert run("essay", "--msg", "1", session, "--no-save").out == run("--msg", "1", session, "--no-save").out
    assert run(session, "--msg=1", "--no-save").out == run("--no-save", "--msg", "1", "--", session).out


def test_a_message_is_named_by_its_place_its_id_or_a_beginning_of_one(session: str) -> None:
    by_place = run("--msg", "1", session, "--no-save").out
    assert run("--msg", "msg_aa01", session, "--no-save").out == by_place
    assert run("--msg", "msg_aa01"[:-1] + "1", session, "--no-save").out == by_place
    assert run("--msg", "msg_0000"[:5], session, "--no-save").code == 2
    assert run("--msg", "msg_000", session, "--no-save").code == 2
    assert run("show", session, "--msg", "msg_0003").out == run("show", session, "--msg", "3").out


def test_a_file_named_like_a_command_is_given_with_its_folder(session: str) -> None:
    shutil.copy(session, "show")
    assert run("./show", "--msg", "1", "--no-save").out == run("--msg", "1", session, "--no-save").out
    assert run("--msg", "1", "show", "--no-save").code == 0
    assert "Missing argument 'SESSION'" in run("show").err


def test_a_file_that_is_close_to_a_command_is_a_file(session: str) -> None:
    shutil.copy(session, "shw")
    assert run("shw", "--msg", "1", "--no-save").code == 0


def test_debug_adds_where_an_error_came_from(session: str) -> None:
    quiet = run("--msg", "9", session)
    for words in (["--debug", "--msg", "9", session], ["--msg", "9", session, "--debug"]):
        loud = run(*words)
        assert (loud.code, loud.out) == (2, "")
        assert loud.err.startswith("Traceback (most recent call last):\n")
        assert loud.err.splitlines()[-1] == quiet.err.strip()
    usage = run("--debug", "--msg", "1", session, "--length", "x")
    assert usage.err.startswith("Traceback")


def test_debug_prints_a_name_that_is_no_utf_8() -> None:
    ran = run("--debug", "--msg", "9", "a\udcff.json")
    assert (ran.code, ran.err.splitlines()[-1]) == (2, "narrate: no such file: a\ufffd.json")


def test_after_two_dashes_there_are_no_options(session: str) -> None:
    shutil.copy(session, "--debug")
    assert run("--msg", "1", "--no-save", "--", "--debug").code == 0
    assert "Traceback" not in run("--msg", "9", "--", "--debug").err


def test_a_session_comes_from_standard_input(session: str) -> None:
    data = Path(session).read_bytes()
    assert run("--msg", "1", "-", "--no-save", stdin=data).out == run("--msg", "1", session, "--no-save").out
    assert json.loads(run("show", "-", "--json", stdin=data).out)[3]["index"] == 3


def test_controls_in_what_is_complained_about_are_marks() -> None:
    ran = run("--msg", "1", "a\x1b[2J\x9b\x00\n\u202eb.json".replace("\x00", ""))
    assert ran.code == 2
    assert len(ran.lines) == 1
    assert not re.search("[\x00-\x09\x0b-\x1f\x9b\u202e]", ran.err)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words",
    [pytest.param(["styles"], id="a little"), pytest.param(["show", "many.json"], id="more than a buffer holds")],
)
def test_a_full_disk_behind_stdout_is_one_line(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path(), export(*[user("word " * 30), assistant("b")] * 400), "many.json")
    with Path("/dev/full").open("w", encoding="ascii") as full:
        assert on_stream(full, words, monkeypatch) == (
            2,
            "narrate: cannot write to standard output: no space left on device\n",
        )


def test_a_reader_that_is_gone_is_exit_141(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="ascii") as pipe:
        assert on_stream(pipe, ["styles"], monkeypatch) == (141, "")


def on_stream(stream: TextIO | None, words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[object, str]:
    """Exit code and stderr of a call whose stdout is `stream`."""
    err = io.TextIOWrapper(io.BytesIO())
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        patched.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as leaving:
            main(words)
    err.seek(0)
    return leaving.value.code, err.read()


def narrate(*words: str, **how: Any) -> subprocess.Popen[bytes]:
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-m", "narrator", *words]
    return subprocess.Popen(command, env=environment(), **(given | how))


def ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What a process printed by its end; one that does not end is killed: left alone, it would fail some later test."""
    try:
        return process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


@pytest.mark.parametrize("words", [["styles"], ["--help"], ["show", "session.json"], ["--msg", "1", "session.json"]])
@pytest.mark.usefixtures("session")
def test_a_reader_that_is_gone_is_no_error(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = narrate(*words, stdout=writing)
    os.close(writing)
    _, err = ended(process)
    assert process.returncode == 141
    assert re.fullmatch(rb"(?:narrate: \d+ words, fewer than .*\n)?(?:narrate: saved .*\n)?", err)


@pytest.mark.usefixtures("session")
def test_nor_is_one_of_both_streams() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = narrate("--msg", "9", "session.json", stdout=writing, stderr=writing)
    os.close(writing)
    assert process.wait(60) == 141


@pytest.mark.parametrize(
    "words", ["styles", "show session.json", "show --json --msg 1 session.json", "targets session.json"]
)
@pytest.mark.usefixtures("session")
def test_a_closed_standard_output_is_one_line(words: str) -> None:
    command = f"exec {sys.executable} -m narrator {words} >&-"
    ran = subprocess.run(["sh", "-c", command], env=environment(), capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"narrate: cannot write to standard output: it is closed\n")


@pytest.mark.usefixtures("session")
def test_what_goes_into_a_file_needs_no_standard_output() -> None:
    command = f"exec {sys.executable} -m narrator --offline --no-save --msg 1 session.json -o essay.md >&-"
    ran = subprocess.run(["sh", "-c", command], env=environment(), capture_output=True, check=False)
    assert ran.returncode == 0
    assert Path("essay.md").stat().st_size > 100


def test_an_interrupt_is_one_line_and_130(session: str) -> None:
    with Loopback(Answer(body="", kind="text/event-stream", then="hang")) as server:
        process = narrate("--msg", "1", session, "--base-url", server.url)
        asked = server.asked.wait(300)
        process.send_signal(signal.SIGINT)
        out, err = ended(process)
    assert asked
    assert (process.returncode, out) == (130, b"")
    assert err == b"narrate: interrupted; what was saved before is kept\n"
    assert files() == set()


def test_an_interrupt_while_reading_too(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(Source, "read", interrupted)
    ran = run("show", session)
    assert (ran.code, len(ran.lines)) == (130, 1)


def test_the_module_is_the_program(session: str) -> None:
    process = narrate("--msg", "1", session, "--no-save")
    out, _ = ended(process)
    assert (process.returncode, out.decode()) == (0, run("--msg", "1", session, "--no-save").out)


# ---- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "file", "begins"),
    [
        pytest.param(["-o", "a.md"], "a.md", "# ", id="Markdown"),
        pytest.param(["-o", "a.markdown"], "a.markdown", "# ", id="Markdown, written out"),
        pytest.param(["-o", "a.html"], "a.html", "<!doctype html>", id="a page"),
        pytest.param(["-o", "A.HTML"], "A.HTML", "<!doctype html>", id="a page in capitals"),
        pytest.param(["--output", "a.htm"], "a.htm", "<!doctype html>", id="a page of old"),
        pytest.param(["-o", "a.txt", "--format", "html"], "a.txt", "<!doctype html>", id="a page under any name"),
        pytest.param(["-o", "a", "--format", "md"], "a", "# ", id="Markdown under any name"),
        pytest.param(["-o", "a.html", "--format", "md"], "a.html", "# ", id="the option before the suffix"),
        pytest.param(["-o", "new/er/a.md"], "new/er/a.md", "# ", id="a folder that is not there yet"),
    ],
)
def test_an_output_is_a_file_and_stdout_stays_empty(words: list[str], file: str, begins: str, session: str) -> None:
    ran = run("--msg", "1", session, *words)
    assert (ran.code, ran.out) == (0, "")
    assert Path(file).read_text("utf-8").startswith(begins)
    assert f"narrate: wrote {file}\n" in ran.err
    assert files() == {file, draft_of(ran.err)}


def test_a_page_on_stdout(session: str) -> None:
    ran = run("--msg", "1", session, "--format", "html", "--no-save")
    assert ran.out.startswith("<!doctype html>")
    assert ran.out.endswith("</html>\n")


def test_a_file_stands_with_its_evidence_and_stdout_without(session: str) -> None:
    assert run("--msg", "1", session, "--no-save", "-o", "a.md").code == 0
    assert "## Evidence" in Path("a.md").read_text("utf-8")
    assert "## Evidence" not in run("--msg", "1", session, "--no-save").out


def test_a_folder_is_never_replaced_by_a_page(session: str) -> None:
    Path("pages.html").mkdir()
    for more in ([], ["--force"]):
        ran = run("--msg", "1", session, "-o", "pages.html", *more)
        assert (ran.code, ran.lines) == (2, ["narrate: cannot write pages.html: it is a folder"])
    assert files() == set()


def test_an_output_that_exists_is_replaced_only_by_force(session: str) -> None:
    Path("a.md").write_text("mine", "utf-8")
    refused = run("--msg", "1", session, "-o", "a.md")
    assert (refused.code, len(refused.lines)) == (2, 1)
    assert "exists: a.md" in refused.err
    assert Path("a.md").read_text("utf-8") == "mine"
    assert run("--msg", "1", session, "-o", "a.md", "--force").code == 0
    assert Path("a.md").read_text("utf-8").startswith("# ")


def test_the_recording_is_never_the_output(session: str) -> None:
    Path("a.md").symlink_to(session)
    before = Path(session).read_bytes()
    refused = run("--msg", "1", session, "-o", "a.md", "--force")
    assert (refused.code, refused.lines) == (2, ["narrate: --output a.md: this is the recording itself"])
    assert Path(session).read_bytes() == before


def full_disk(_: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_leaves_the_old_page(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.md").write_text("mine", "utf-8")
    monkeypatch.setattr(os, "fsync", full_disk)
    ran = run("--msg", "1", session, "-o", "a.md", "--force", "--no-save")
    assert ran.code == 2
    assert ran.lines[-1] == "narrate: cannot write a.md: no space left on device"
    assert Path("a.md").read_text("utf-8") == "mine"
    assert files() == {"a.md"}


def test_a_disk_that_is_full_does_not_cost_the_essay(
    session: str, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", full_disk)
    ran = run("--msg", "1", session, "--base-url", server.url)
    assert ran.code == 2
    assert ran.out.startswith(GOOD_ESSAY[:80])
    assert re.fullmatch(r"narrate: cannot write drafts/\S+: no space left on device", ran.lines[-1])
    assert files() == set()


def test_a_draft_is_saved_under_its_session_and_message(session: str) -> None:
    draft = draft_of(run("--msg", "1", session).err)
    assert re.fullmatch(r"drafts/fix-the-flaky-test-[0-9a-f]{8}/1-essay\.json", draft)
    assert files() == {draft}
    elsewhere = draft_of(run("--msg", "1", session, "--drafts", "kept/here").err)
    assert elsewhere == f"kept/here/{slug_of(draft)}/1-essay.json"


def test_no_draft_is_saved_when_none_is_wanted(session: str) -> None:
    assert run("--msg", "1", session, "--no-save").code == 0
    assert files() == set()


def test_json_is_the_draft_as_it_is_saved(session: str) -> None:
    ran = run("--msg", "1", session, "--json")
    assert ran.out == Path(draft_of(ran.err)).read_text("utf-8")
    assert json.loads(ran.out)["schema"] == 2
    beside = run("--msg", "2", session, "--json", "-o", "a.html")
    assert json.loads(beside.out)["target"]["index"] == 2
    assert Path("a.html").exists()
    assert json.loads(run("--msg", "3", session, "--json", "--no-save").out)["target"]["index"] == 3


# ---- the same essay again ----------------------------------------------------------------------------------------


def test_the_same_essay_is_not_written_twice(session: str, server: Loopback) -> None:
    words = ["--msg", "1", session, "--base-url", server.url]
    draft = draft_of(run(*words).err)
    before = Path(draft).read_bytes()
    again = run(*words)
    assert (again.code, again.out, len(again.lines)) == (2, "", 1)
    assert f"exists: {draft};" in again.err
    assert Path(draft).read_bytes() == before
    assert len(server.requests) == 1
    assert run("--msg", "msg_aa01", session, "--base-url", server.url).code == 2, "by its id it is the same"
    assert run(*words, "--no-save").code == 0, "without saving, nothing is in the way"
    assert run(*words, "--force").code == 0
    assert files() == {draft}
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--model", "other"], id="another model"),
        pytest.param(["--length", "500"], id="another length"),
        pytest.param(["--language", "de"], id="another language"),
        pytest.param(["--budget", "3000"], id="another budget"),
        pytest.param(["--before", "1"], id="more before"),
        pytest.param(["--after", "1"], id="more after"),
        pytest.param(["--max-output-tokens", "9000"], id="another limit"),
        pytest.param(["--offline"], id="another writer"),
    ],
)
def test_another_essay_on_the_same_message_gets_a_name_of_its_own(
    words: list[str], session: str, server: Loopback
) -> None:
    first = draft_of(run("--msg", "1", session, "--base-url", server.url).err)
    second = draft_of(run("--msg", "1", session, "--base-url", server.url, *words).err)
    assert re.fullmatch(r"1-essay-[0-9a-f]{6}\.json", Path(second).name)
    assert Path(first).parent == Path(second).parent
    again = run("--msg", "1", session, "--base-url", server.url, *words)
    assert again.code == 2
    assert f"exists: {second};" in again.err


def test_what_does_not_change_an_essay_does_not_make_another(session: str, server: Loopback) -> None:
    words = ["--msg", "1", session, "--base-url", server.url]
    assert run(*words).code == 0
    shutil.copy(session, "copy.json")
    for more in (["--timeout", "60"], ["--language", "en"], ["--format", "html"], ["-o", "a.md"], ["--json"]):
        assert "exists" in run(*words, *more).err
    assert "exists" in run("--msg", "1", "copy.json", "--base-url", server.url).err
    assert len(server.requests) == 1


# ---- who writes --------------------------------------------------------------------------------------------------


KEY, URL, MODEL = "OPENAI_API_KEY", "OPENAI_BASE_URL", "NARRATE_MODEL"


@pytest.mark.parametrize(
    ("env", "words", "writer", "key"),
    [
        pytest.param({}, [], "offline", "", id="nothing"),
        pytest.param({KEY: "", URL: "", MODEL: ""}, [], "offline", "", id="nothing, in empty variables"),
        pytest.param({KEY: " \n", URL: " "}, [], "offline", "", id="nothing, in blank variables"),
        pytest.param({MODEL: "m"}, [], "offline", "", id="a model in the environment alone"),
        pytest.param({}, ["--base-url", "HERE"], "gpt-6-sol", "none", id="an address"),
        pytest.param({URL: "HERE"}, [], "gpt-6-sol", "none", id="an address in the environment"),
        pytest.param({KEY: "sk-abc", URL: "HERE"}, [], "gpt-6-sol", "sk-abc", id="a key and an address"),
        pytest.param({KEY: "sk-abc\n", URL: "HERE"}, [], "gpt-6-sol", "sk-abc", id="a key with a line feed"),
        pytest.param(
            {URL: "http://127.0.0.1:1/v1"}, ["--base-url", "HERE"], "gpt-6-sol", "none", id="the call's address first"
        ),
        pytest.param({URL: "HERE", MODEL: "m"}, [], "m", "none", id="the environment's model"),
        pytest.param({URL: "HERE", MODEL: ""}, [], "gpt-6-sol", "none", id="an empty model"),
        pytest.param({URL: "HERE", MODEL: "m"}, ["--model", "n"], "n", "none", id="the call's model first"),
        pytest.param({KEY: "sk-abc", URL: "HERE"}, ["--offline"], "offline", "", id="offline, whatever is set"),
        pytest.param({}, ["--offline", "--model", "m"], "offline", "", id="offline, and a model for later"),
        pytest.param({}, ["--model", "m"], "nobody", "", id="a model and nowhere to ask"),
        pytest.param({KEY: "", URL: ""}, ["--model", "m"], "nobody", "", id="a model and empty variables"),
        pytest.param({KEY: "sk a b"}, [], "nobody", "", id="a key that cannot be sent"),
        pytest.param({KEY: "sk-abc", URL: "HERE"}, ["--model", " "], "nobody", "", id="a model without a name"),
    ],
)
def test_the_call_and_the_environment_decide_who_writes(
    env: dict[str, str],
    words: list[str],
    writer: str,
    key: str,
    session: str,
    server: Loopback,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value.replace("HERE", server.url))
    ran = run("--msg", "1", session, "--json", *(word.replace("HERE", server.url) for word in words))
    if writer == "nobody":
        assert (ran.code, len(ran.lines), server.requests) == (2, 1, [])
        return
    assert ran.code == 0, ran.err
    model = json.loads(ran.out)["model"]
    note, lines = (1, 3) if writer == "offline" else (0, 2)  # a short record is told of in a line
    assert (ran.err.count(NOTE), len(ran.lines)) == (note, lines)
    if writer == "offline":
        assert (model, server.requests) == (None, [])
        return
    (request,), (headers,) = server.requests, server.headers
    assert (request["model"], headers["authorization"]) == (writer, f"Bearer {key}")
    assert (model["name"], model["base_url"]) == (writer, server.url)


def test_a_key_is_nowhere_in_what_is_printed_or_saved(
    session: str, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-test-0123456789abcdef")
    address = server.url.replace("//", "//me:pa55word@") + "?token=t0ken"
    ran = run("--msg", "1", session, "--base-url", address, "--json", "--debug")
    assert ran.code == 0, ran.err
    assert not re.search(
        r"0123456789abcdef|pa55word|t0ken", ran.out + ran.err + Path(draft_of(ran.err)).read_text("utf-8")
    )


def test_what_is_set_is_sent_and_kept(session: str, server: Loopback) -> None:
    words = ["--max-output-tokens", "900", "--length", "500", "--budget", "3000", "--before", "1", "--after", "2"]
    words += ["--language", "deutsch"]
    ran = run("--msg", "1", session, "--base-url", server.url, "--json", *words)
    draft = json.loads(ran.out)
    assert draft["settings"] == {
        "max_output_tokens": 900, "length": 500, "language": "German", "budget": 3000, "before": 1, "after": 2,
    }  # fmt: skip
    [request] = server.requests
    tools = [tool["function"]["name"] for tool in request["tools"]]
    kept = {name: value for name, value in request.items() if name not in ("messages", "model", "stream_options")}
    assert draft["model"]["settings"] == kept | {"tools": tools}
    assert request["max_tokens"] == 900
    assert draft["usage"] == {"input": 9, "output": 4, "cached": 2, "reasoning": 1}
    assert "440" in server.requests[0]["messages"][0]["content"], "the words that are wanted"
    assert "Write in German:" in server.requests[0]["messages"][0]["content"]


# ---- what the model answers --------------------------------------------------------------------------------------


WORDS = "word " * 300


@pytest.mark.parametrize(
    ("essay", "warning"),
    [
        pytest.param("# A\n\nYes [msg 1].", "the essay is short: 5 words", id="a short essay"),
        pytest.param(f"# A\n\n{WORDS}", "the essay cites no message of the session", id="one that cites nothing"),
        pytest.param(
            f"# A\n\n{WORDS}[msg 1], [msg 77].", "no message of the session: 77", id="one that cites what is not there"
        ),
    ],
)
def test_an_essay_with_a_flaw_is_saved_and_warned_of(essay: str, warning: str, session: str) -> None:
    with Loopback(completion(essay)) as server:
        ran = run("--msg", "1", session, "--base-url", server.url)
    assert ran.code == 0
    assert re.search(rf"^narrate: warning: .*{re.escape(warning)}$", ran.err, re.MULTILINE), ran.err
    assert json.loads(Path(draft_of(ran.err)).read_text("utf-8"))["essay"]["final"].startswith("# A")
    assert ran.out.startswith("# A")


def test_an_essay_that_comes_in_pieces_is_the_same(session: str) -> None:
    with Loopback(essay_stream(*re.findall(r"(?s).{1,50}", GOOD_ESSAY))) as server:
        ran = run("--msg", "1", session, "--base-url", server.url)
    assert ran.code == 0
    assert ran.out.startswith(GOOD_ESSAY.rstrip())
    assert len(ran.lines) == 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        pytest.param(completion(None, refusal="I cannot."), "refused: I cannot", id="a refusal"),
        pytest.param(completion("", finish="length"), "--max-output-tokens", id="all of it thought away"),
        pytest.param(completion("# Half an", finish="length"), "--max-output-tokens", id="one that is cut off"),
        pytest.param(completion(None, finish="content_filter"), "filter", id="a filtered one"),
        pytest.param(completion("<!doctype html><title>x</title>"), "HTML", id="a web page"),
        pytest.param(Answer(body="{}", status=401), "refused the key.*OPENAI_API_KEY", id="a key that is refused"),
    ],
)
def test_an_answer_that_is_no_essay_is_exit_3_and_leaves_nothing(answer: Answer, says: str, session: str) -> None:
    with Loopback(answer) as server:
        ran = run("--msg", "1", session, "--base-url", server.url, "-o", "a.html")
    assert (ran.code, ran.out, len(ran.lines)) == (3, "", len(server.requests))
    assert re.search(says, ran.lines[-1]), ran.err
    assert files() == set()


def test_every_wait_for_another_try_is_a_line(session: str) -> None:
    with Loopback(Answer(body="{}", status=503, headers={"retry-after-ms": "1"}), good_answer()) as server:
        ran = run("--msg", "1", session, "--base-url", server.url)
    assert ran.code == 0
    assert re.search(r"503.*next try in", ran.lines[0])


# ---- what the check finds ----------------------------------------------------------------------------------------

SPOILED = GOOD_ESSAY + "\n\nThe run took 4711 steps [msg 1].\n\nThe user said that it was enough [msg 2]."
MENDED = completion("<sentence 1 dropped>\n</sentence 1>")
USELESS = completion("I would rather not.")


@pytest.mark.parametrize(
    ("words", "answers", "requests", "clean"),
    [
        pytest.param([], [MENDED], 2, True, id="one round unless told otherwise"),
        pytest.param(["--repair", "0"], [], 1, False, id="none when it is turned off"),
        pytest.param(["--repair", "2"], [USELESS, MENDED], 3, True, id="as many as are given"),
        pytest.param(["--repair", "1"], [USELESS], 2, False, id="and no more"),
    ],
)
def test_failing_sentences_are_sent_back(
    words: list[str], answers: list[Answer], requests: int, clean: bool, session: str
) -> None:
    with Loopback(completion(SPOILED), *answers, USELESS) as server:
        ran = run("--msg", "1", session, "--base-url", server.url, "--strict", "-o", "a.html", *words)
    assert len(server.requests) == requests
    assert ran.code == (0 if clean else 1)
    draft = json.loads(Path(draft_of(ran.err)).read_text("utf-8"))
    assert draft["check"]["clean"] is clean
    assert ("4711" in draft["essay"]["final"]) is not clean
    assert "4711" in draft["essay"]["written"]
    assert len(draft["repair"]) == requests - 1
    assert draft["usage"]["input"] == 9 * requests
    page = Path("a.html").read_text("utf-8")
    assert ('<span class="doubt">4711</span>' in page) is not clean
    assert ("Left out after the check: “The run took 4711 steps [msg 1].”" in page) is clean
    assert files() == {draft_of(ran.err), "a.html"}


@pytest.mark.parametrize(
    ("essay", "words", "code"),
    [
        pytest.param(GOOD_ESSAY, ["--strict"], 0, id="a clean essay"),
        pytest.param(SPOILED, ["--strict"], 1, id="one in which something failed"),
        pytest.param(SPOILED, [], 0, id="the same, and nobody asked"),
    ],
)
def test_strict_is_exit_1_when_something_still_fails(essay: str, words: list[str], code: int, session: str) -> None:
    with Loopback(completion(essay), USELESS) as server:
        ran = run("--msg", "1", session, "--base-url", server.url, *words)
    assert ran.code == code
    assert ran.out.startswith("# A turn")
    assert Path(draft_of(ran.err)).is_file()
    assert ("1 statement of the essay failed the check and is marked on its page" in ran.err) is (essay == SPOILED)


def test_an_endpoint_that_fails_during_repair_costs_no_essay(session: str) -> None:
    with Loopback(completion(SPOILED), Answer(body="{}", status=401)) as server:
        ran = run("--msg", "1", session, "--base-url", server.url)
    assert ran.code == 0
    assert re.search(r"the essay stays as it was before repair round 1: .*refused the key", ran.err)
    draft = json.loads(Path(draft_of(ran.err)).read_text("utf-8"))
    assert draft["essay"]["final"].rstrip() == SPOILED
    assert [change["accepted"] for change in draft["repair"]] == [False]
    assert ran.out.startswith("# A turn")


def test_an_essay_is_saved_before_it_is_sent_back(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is interrupted, or killed, during its repair is paid for."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("narrator.pipeline.repair_steps", interrupted)
    with Loopback(completion(SPOILED)) as server:
        ran = run("--msg", "1", session, "--base-url", server.url)
    assert (ran.code, ran.out) == (130, "")
    (path,) = files()
    assert json.loads(Path(path).read_text("utf-8"))["essay"]["final"].rstrip() == SPOILED


def test_a_folder_that_cannot_be_written_does_not_stop_the_repair(
    session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise DraftError("cannot write drafts/x: no space left on device")

    monkeypatch.setattr("narrator.cli.saving.save_draft", full)
    with Loopback(completion(SPOILED), MENDED) as server:
        ran = run("--msg", "1", session, "--base-url", server.url)
    assert ran.code == 2
    assert "it is tried again after the repair" in ran.err
    assert "took 4711 steps [msg 1]" not in ran.out
    assert ran.out.startswith("# A turn")


def test_without_saving_nothing_is_saved_before_a_repair(session: str) -> None:
    with Loopback(completion(SPOILED), MENDED) as server:
        ran = run("--msg", "1", session, "--base-url", server.url, "--no-save", "--strict")
    assert (ran.code, files(), len(server.requests)) == (0, set(), 2)
    assert "took 4711 steps [msg 1]" not in ran.out


def test_the_rounds_are_a_part_of_what_an_essay_is(session: str, server: Loopback) -> None:
    words = ["--msg", "1", session, "--base-url", server.url]
    usual = json.loads(run(*words, "--json").out)
    other = json.loads(run(*words, "--json", "--repair", "0").out)
    assert (usual["settings"], other["settings"]) == ({}, {"repair": 0})


def test_the_offline_writer_s_essay_is_checked_and_not_sent_back(session: str) -> None:
    ran = run("--msg", "1", session, "--offline", "--strict", "--repair", "3", "--json")
    assert ran.code == 0
    draft = json.loads(ran.out)
    assert draft["check"]["clean"]
    assert draft["check"]["counts"]["citations"]
    assert draft["repair"] == []


REPLIES = SHARED / "cases" / "api-replies.json"
TABLE = SHARED / "cases" / "EXPECT.tsv"


def replies() -> list[Any]:
    """The rows of the shared table about an endpoint's answers, each with what it answers."""
    if not TABLE.is_file():
        return [pytest.param([], id="none", marks=pytest.mark.skip(reason="needs ../shared/cases"))]
    rows = [line.split("\t") for line in TABLE.read_text("utf-8").splitlines()]
    return [
        pytest.param(row, id=row[0].partition(".")[0])
        for row in rows
        if row[0].startswith("1") and len(row[0]) > 3 and row[0][2].isdigit()
    ]


@pytest.mark.parametrize("row", replies())
def test_a_recorded_answer_comes_out_as_the_table_says(
    row: list[str], session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "_pause", lambda _: 0.0)  # what comes between two tries is not what the table is about
    file, _, _, exit_, _, has, hides, where, _ = row
    status, kind, headers = json.loads(REPLIES.read_text("utf-8"))[file]
    body = (REPLIES.parent / file).read_bytes()
    answer = Answer(body=body, status=status, kind=kind, headers=headers)
    with Loopback(answer) as server:
        ran = run("--msg", "1", session, "--base-url", server.url, "-o", "a.html")
        printed = run("--msg", "1", session, "--base-url", server.url, "--no-save", "--force").out
    assert ran.code in {int(code) for code in exit_.split("|")}, ran.err
    assert re.search(has, ran.err), ran.err
    assert ran.lines or ran.code == 0
    if ran.code:
        assert files() == set()
    hidden = r"\bNone\b" if hides == "None as text" else hides or r"(?!)"
    page = Path("a.html").read_text("utf-8") if Path("a.html").exists() else ""
    saved = "".join(Path(path).read_text("utf-8") for path in files() if path.endswith(".json"))
    act_in_a_page = hides.startswith("<script>")
    places = {"any": [page] if act_in_a_page else [ran.err, page, saved, printed], "stdout": [printed]}[where]
    assert not any(re.search(hidden, text) for text in places)


# ---- look-ups ----------------------------------------------------------------------------------------------------


def called(name: str, **arguments: object) -> Answer:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": f"call_{name}", "type": "function", "function": function}
    return completion(None, finish="tool_calls", tool_calls=[call])


def far() -> str:
    """A recording whose first answer is far from its last messages."""
    steps = [message for number in range(80) for message in (user(f"step {number}"), assistant("word " * 400))]
    return write(Path(), export(user("Begin."), assistant("The disk is FULL at 97 %.", "more"), *steps), "far.json")


def test_a_model_looks_things_up_and_cites_them() -> None:
    path = far()
    essay = completion(GOOD_ESSAY + "\n\nThe disk was full [msg 1].")
    answers = called("search_session", text="disk is full"), called("read_messages", indices=[1]), essay
    with Loopback(*answers) as server:
        ran = run("--msg", "160", path, "--base-url", server.url, "--budget", "3000", "--json")
    assert ran.code == 0
    assert [line for line in ran.lines if "warning" in line] == []
    draft = json.loads(ran.out)
    assert "The disk is FULL at 97 %." in {message["index"]: message for message in draft["evidence"]}[1]["text"]
    assert draft["settings"] == {"budget": 3000}
    assert draft["model"]["settings"]["looked_up"] == 2
    assert draft["usage"] == {"input": 27, "output": 12, "cached": 6, "reasoning": 3}
    first, second, third = server.requests
    system, prompt = first["messages"]
    assert system["content"].endswith("say nothing in it of tools or of looking up.\n")
    [key] = set(re.findall(r"<conversation_data (\d{8})>", prompt["content"]))
    assert f"<conversation_data {key}>\n[{key} text]\nThe disk is FULL at 97 %.\n" in second["messages"][-1]["content"]
    assert f"[{key} text]\nmore\n</conversation_data {key}>" in third["messages"][-1]["content"]
    assert "disk" not in prompt["content"]


def test_an_endpoint_without_tools_writes_in_the_same_run(session: str) -> None:
    refusal = as_json({"error": {"message": "loopback does not support tools"}}, 400)
    with Loopback(refusal, good_answer()) as server:
        ran = run("--msg", "1", session, "--base-url", server.url)
    assert ran.code == 0
    assert GOOD_ESSAY.strip() in ran.out
    assert len([line for line in ran.lines if "asked again without tools" in line]) == 1
    assert "Looking things up" not in json.dumps(server.requests[1])


def test_look_ups_can_be_turned_off_and_that_is_another_essay(session: str, server: Loopback) -> None:
    words = ["--msg", "1", session, "--base-url", server.url]
    drafts = [draft_of(run(*words, *more).err) for more in ([], ["--lookups", "0"], ["--lookups", "1"])]
    assert ["tools" in request for request in server.requests] == [True, False, True]
    assert len(set(drafts)) == 3
    settings = [json.loads(Path(draft).read_text("utf-8"))["settings"] for draft in drafts]
    assert settings == [{}, {"lookups": 0}, {"lookups": 1}]
    assert "exists" in run(*words, "--lookups", "3").err


# ---- offline drafts, and what an essay costs ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [["--budget", "3000"], ["--before", "1"], ["--after", "1"], ["--length", "500"]],
    ids=lambda words: words[0],
)
def test_what_shapes_an_offline_essay_makes_another(words: list[str], session: str) -> None:
    first = draft_of(run("--msg", "1", session).err)
    ran = run("--msg", "1", session, *words, "--json")
    assert ran.code == 0
    assert re.fullmatch(r"1-essay-[0-9a-f]{6}\.json", Path(draft_of(ran.err)).name)
    draft = json.loads(ran.out)
    assert (draft["model"], draft["settings"]) == (None, {words[0].strip("-"): int(words[1])})
    assert "exists" in run("--msg", "1", session, *words).err
    assert f"exists: {first}" in run("--msg", "1", session, "--lookups", "0", "--repair", "0").err


def test_after_an_essay_a_line_says_what_it_took(session: str, server: Loopback) -> None:
    words = ["--msg", "1", session, "--base-url", server.url]
    assert run(*words).lines[-1] == "narrate: tokens: 9 in (2 cached), 4 out; cost unknown: no price for it"
    priced = run(*words, "--price", "1000,500,2000", "--force", "--json")
    assert priced.lines[-1] == "narrate: tokens: 9 in (2 cached), 4 out; cost $0.0160 by --price 1000,500,2000"
    assert json.loads(priced.out)["cost"] == {"usd": 0.016, "source": "--price 1000,500,2000"}


def test_an_endpoint_that_does_not_count_leaves_the_cost_unknown(session: str) -> None:
    answer = json.loads(str(good_answer().body)) | {"usage": None}
    with Loopback(as_json(answer)) as server:
        ran = run("--msg", "1", session, "--base-url", server.url, "--price", "1,1,1", "--json")
    assert ran.lines[-1] == "narrate: tokens: not counted by the endpoint; cost unknown"
    assert (json.loads(ran.out)["usage"], json.loads(ran.out)["cost"]) == (None, None)


def test_a_dry_run_says_what_it_would_cost(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-abc")
    said = r"narrate: dry run: about [\d,]+ tokens in the prompt, [\d,]+ tokens in the essay, "
    words = ["--msg", "1", session, "--dry-run"]
    assert re.fullmatch(rf"{said}estimated cost \$0\.0\d+ by genai-prices .*; nothing was sent", run(*words).lines[-1])
    assert re.fullmatch(
        rf"{said}estimated cost \$[\d.]+ by --price 9,9,9 .*", run(*words, "--price", "9,9,9").lines[-1]
    )
    assert re.fullmatch(rf"{said}price unknown; nothing was sent", run(*words, "--model", "no-such").lines[-1])


# ---- one section again -------------------------------------------------------------------------------------------

SECTION = "## What follows from it\n\nThe user asked for one thing [msg 0].\n"


def test_one_section_of_a_saved_draft_is_written_again(session: str) -> None:
    with Loopback(good_answer(), completion(SECTION)) as server:
        words = ["--msg", "1", session, "--base-url", server.url]
        path = Path(draft_of(run(*words).err))
        ran = run(*words, "--redo-section", "what follows")
    assert ran.code == 0, ran.err
    assert draft_of(ran.err) == str(path)
    first, again = (request["messages"] for request in server.requests)
    assert again[1]["content"].startswith(first[1]["content"])
    assert "tools" not in server.requests[1]
    draft = json.loads(path.read_text("utf-8"))
    head = GOOD_ESSAY.partition("## What follows")[0]
    assert draft["essay"] == {"written": GOOD_ESSAY.strip(), "final": head + SECTION.strip()}
    assert ran.out.startswith(head + SECTION.strip())
    assert [redone["section"] for redone in draft["redone"]] == ["What follows from it"]
    assert draft["usage"]["input"] == 18


def test_an_unusable_section_is_exit_3_and_leaves_the_draft(session: str) -> None:
    with Loopback(good_answer(), good_answer()) as server:
        words = ["--msg", "1", session, "--base-url", server.url]
        path = Path(draft_of(run(*words).err))
        before = path.read_bytes()
        ran = run(*words, "--redo-section", "what follows")
    assert (ran.code, ran.out, len(ran.lines)) == (3, "", 1)
    assert "no usable section: it holds other sections too; the draft stays as it was" in ran.err
    assert path.read_bytes() == before


def test_a_section_is_shown_and_nothing_sent_or_saved(session: str, server: Loopback) -> None:
    words = ["--msg", "1", session, "--base-url", server.url, "--redo-section", "0"]
    path = Path(draft_of(run(*words[:-2]).err))
    before = path.read_bytes()
    ran = run(*words, "--dry-run")
    assert (ran.code, len(server.requests)) == (0, 1)
    assert "Write one section of it again, its introduction" in ran.out
    with Loopback(good_answer(), completion("New [msg 0].")) as other:
        ran = run(*[other.url if word == server.url else word for word in words], "--no-save")
    assert ran.code == 2, "another address is another essay"
    assert path.read_bytes() == before


def test_an_offline_section_is_the_one_of_the_same_heading(session: str) -> None:
    path = Path(draft_of(run("--msg", "1", session).err))
    before = json.loads(path.read_text("utf-8"))
    ran = run("--msg", "1", session, "--redo-section", "what followed")
    assert ran.code == 0
    after = json.loads(path.read_text("utf-8"))
    assert (after["essay"], len(after["redone"])) == (before["essay"], 1)
    run("--msg", "1", session, "--redo-section", "what followed", "--no-save")
    assert json.loads(path.read_text("utf-8")) == after


@pytest.mark.parametrize(
    ("prepare", "words", "says"),
    [
        pytest.param("nothing", [], "nothing is saved in drafts about message 1; write it first", id="no draft"),
        pytest.param("draft", ["--redo-section", "zz"], "there are: 0 introduction, 1 “", id="no such section"),
        pytest.param("draft", ["--redo-section", ""], "there are: 0 introduction", id="an empty name"),
        pytest.param(
            "draft", ["--budget", "3000"], "1-essay.json is another one: written with no option", id="other settings"
        ),
        pytest.param("broken", [], "1-essay.json: not a draft: it is not JSON", id="a corrupt draft"),
        pytest.param("session", [], "is another one: written from another state of the session", id="another state"),
        pytest.param("model", [], "is another one: written by m", id="another writer"),
        pytest.param("version", [], "is another one: in version 0 of the style, which now is", id="another version"),
        pytest.param("bare", ["--redo-section", "0"], "the essay has no introduction", id="no introduction"),
        pytest.param("twice", ["--redo-section", "one"], "2 sections begin so", id="a heading twice"),
    ],
)
def test_what_cannot_be_redone_is_one_line_and_exit_2(prepare: str, words: list[str], says: str, session: str) -> None:
    path = Path()
    if prepare != "nothing":
        path = Path(draft_of(run("--msg", "1", session).err))
        document = json.loads(path.read_text("utf-8"))
        changes: dict[str, Any] = {
            "session": {"session": document["session"] | {"sha256": "ab" * 32}},
            "model": {"model": {"name": "m", "base_url": None, "settings": {}}},
            "version": {"style": document["style"] | {"version": "0"}},
            "bare": {"essay": {"written": "x", "final": "# T\n\n## One\n\nA."}},
            "twice": {"essay": {"written": "x", "final": "# T\n\n## One\n\nA.\n\n## One\n\nB."}},
        }
        text = "{" if prepare == "broken" else json.dumps(document | changes.get(prepare, {}))
        path.write_text(text, "utf-8")
    given = words if "--redo-section" in words else [*words, "--redo-section", "what"]
    ran = run("--msg", "1", session, *given)
    assert (ran.code, ran.out, len(ran.lines)) == (2, "", 1)
    assert says in ran.err


# ---- dry run -----------------------------------------------------------------------------------------------------


def test_a_dry_run_prints_what_would_be_sent_and_sends_nothing(session: str, server: Loopback) -> None:
    words = ["--msg", "1", session, "--base-url", server.url]
    ran = run(*words, "--dry-run", "-o", "a.html")
    assert ran.code == 0
    assert len(ran.lines) == 1
    assert re.search(r"[\d,]+ tokens.*price unknown; nothing was sent", ran.err)
    assert server.requests == []
    assert files() == set()
    assert run(*words, "--no-save").code == 0
    for message in server.requests[0]["messages"]:
        assert f"<!-- {message['role']} -->\n\n{message['content']}" in ran.out


def test_a_dry_run_prints_the_tools_that_would_be_offered(session: str, server: Loopback) -> None:
    words = ["--msg", "1", session, "--base-url", server.url, "--dry-run"]
    offered, alone, offline = run(*words).out, run(*words, "--lookups", "0").out, run(*words, "--offline").out
    assert alone == offline
    assert "## Looking things up" in offered
    assert json.loads(offered.partition("<!-- tools -->")[2])[0]["function"]["name"] == "read_messages"
    assert "search_session" not in alone
    kept = re.sub(
        r"\n## Looking things up\n.*?(?=\n<!-- user)", "", offered.partition("<!-- tools -->")[0], flags=re.DOTALL
    )
    assert kept.rstrip() == alone.rstrip()


def test_a_dry_run_needs_no_endpoint_and_no_free_place(session: str) -> None:
    Path("a.html").write_text("mine", "utf-8")
    assert run("--msg", "1", session, "--dry-run", "-o", "a.html").code == 0
    assert run("--msg", "1", session, "--dry-run", "--offline").code == 0


def test_secrets_are_masked_unless_that_is_turned_off(server: Loopback) -> None:
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    path = write(Path(), export(user(f"Use {token}."), assistant("ok")))
    masked = run("--msg", "0", path, "--base-url", server.url, "--json")
    assert token not in json.dumps(server.requests) + masked.out
    assert json.loads(masked.out)["redacted"] == {"github-token": 1}
    open_ = run("--msg", "0", path, "--base-url", server.url, "--json", "--no-redact", "--no-save")
    assert token in json.dumps(server.requests)
    assert "warning: --no-redact" in open_.err
    assert json.loads(open_.out)["redacted"] == {}


def test_a_message_too_long_for_the_prompt_is_said_to_be(server: Loopback) -> None:
    path = write(Path(), export(user("Print it."), assistant(tool(output="word " * 20_000))))
    assert re.search(
        r"message 1 is long: [\d,]+ characters of it left out", run("--msg", "1", path, "--base-url", server.url).err
    )
    assert "is long" not in run("--msg", "0", path, "--base-url", server.url).err
    assert "is long" not in run("--msg", "1", path, "--base-url", server.url, "--budget", "90000").err


# ---- show --------------------------------------------------------------------------------------------------------


KINDS = {
    *("empty-completion", "reasoning-only", "aborted", "provider-error", "cut-off", "unfinished", "compaction-request"),
    *("compaction-summary", "synthetic", "invalid-tool-call", "tool-error", "tool-aborted", "tool-unfinished"),
    *("command-failed", "empty-output", "output-truncated", "output-pruned", "user-nudge", "repeated-call", "gap"),
    *("subagent", "reverted", "model-switch"),
}
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def test_the_list_of_messages_has_the_shape_of_the_contract(session: str) -> None:
    ran = run("show", session, "--json")
    assert (ran.code, ran.err) == (0, "")
    rows = json.loads(ran.out)
    assert [row["index"] for row in rows] == [0, 1, 2, 3]
    assert [row["id"] for row in rows] == ["msg_0000", "msg_aa01", "msg_aa02", "msg_0003"]
    assert [row["role"] for row in rows] == ["user", "assistant", "user", "assistant"]
    assert [row["gist"] for row in rows] == ["Please fix the test.", "It fails.", "continue", "Sorted; it passes."]
    assert [row["findings"] for row in rows] == [[], ["command-failed"], ["user-nudge"], []]
    for row in rows:
        assert list(row) == ["index", "id", "role", "time", "gist", "findings"]
        assert re.fullmatch(TIME, row["time"])


def test_a_message_without_a_time_has_none() -> None:
    document = export(user("a"), assistant("b"))
    document["messages"][0]["info"]["time"] = {}
    path = write(Path(), document)
    assert json.loads(run("show", path, "--json").out)[0]["time"] is None
    assert re.match(r"0 +no time +user +a$", run("show", path).out.splitlines()[0])


def test_the_context_has_the_shape_of_the_contract(session: str) -> None:
    ran = run("show", session, "--msg", "1", "--json")
    assert (ran.code, ran.err) == (0, "")
    context = json.loads(ran.out)
    assert list(context) == ["session", "target", "findings", "window", "outline", "tokens", "omitted"]
    assert context["session"] == {
        "format": "opencode",
        "id": "ses_4f1c0a7e2ffeTestTestTest01",
        "title": "Fix the flaky test",
        "messages": 4,
        "created": "2025-10-09T08:53:20Z",
    }
    assert context["target"] == {
        "index": 1,
        "id": "msg_aa01",
        "role": "assistant",
        "text": "It fails.",
        "empty": False,
        "time": "2025-10-09T08:54:20Z",
        "findings": ["command-failed"],
    }
    assert [finding["index"] for finding in context["findings"]] == [1, 2]
    for finding in context["findings"]:
        assert list(finding) == ["index", "kind", "says", "evidence"]
        assert finding["kind"] in KINDS
        assert finding["says"].endswith(".")
        assert all(list(entry) == ["index", "field", "value"] for entry in finding["evidence"])
    assert context["window"] == [0, 1, 2, 3]
    assert isinstance(context["outline"], list)
    assert 0 < context["tokens"] < 2000
    assert context["omitted"] == {"messages": 0, "characters": 0}


def test_an_empty_target_is_said_to_be_empty() -> None:
    path = write(Path(), export(user("a"), assistant()))
    target = json.loads(run("show", path, "--msg", "1", "--json").out)["target"]
    assert (target["text"], target["empty"], target["findings"]) == ("", True, ["empty-completion"])


def test_a_budget_decides_how_much_is_shown() -> None:
    path = write(Path(), export(*[user("word " * 90), assistant("word " * 90)] * 60))
    small, large = (
        json.loads(run("show", path, "--msg", "60", "--json", "--budget", budget).out) for budget in ("800", "30000")
    )
    assert set(small["window"]) < set(large["window"])
    assert 60 in small["window"]
    assert small["omitted"]["messages"] > large["omitted"]["messages"]
    reach = json.loads(
        run("show", path, "--msg", "60", "--json", "--budget", "3000", "--before", "12", "--after", "1").out
    )
    assert set(range(48, 62)) <= set(reach["window"])


def test_what_a_model_would_see_is_what_it_is_sent(session: str, server: Loopback) -> None:
    ran = run("show", session, "--msg", "1")
    assert ran.code == 0
    assert re.search(r"tokens of target and window.*not shown: 0 messages, 0 characters", ran.err)
    assert run("--msg", "1", session, "--base-url", server.url, "--no-save").code == 0
    assert ran.out == server.requests[0]["messages"][-1]["content"]


def test_what_was_stepped_over_is_said_in_every_view() -> None:
    document = export(user("a"), assistant({"type": "hologram"}, "b"))
    path = write(Path(), "Exporting session: ses_a\n" + json.dumps(document))
    for words in (["show", path], ["show", path, "--json"]):
        assert "warning: session.json: skipped 1 log line" in run(*words).err
    for words in (["show", path, "--msg", "1"], ["show", path, "--msg", "1", "--json"], ["--msg", "1", path]):
        ran = run(*words)
        assert "unknown type hologram" in ran.err
        assert "skipped 1 log line" in ran.err


# ---- render ------------------------------------------------------------------------------------------------------


@pytest.fixture
def drafts(session: str) -> list[str]:
    """Two drafts of a session that is gone."""
    made = [draft_of(run("--msg", index, session, "--offline").err) for index in ("1", "3")]
    Path(session).unlink()
    return made


def test_a_draft_becomes_the_page_it_was_without_its_session(session: str) -> None:
    draft = draft_of(run("--msg", "1", session, "-o", "first.html").err)
    assert run("--msg", "1", session, "-o", "first.md", "--no-save").code == 0
    Path(session).unlink()
    assert run("render", draft, "-o", "again.html")[:2] == (0, "")
    assert run("render", draft, "-o", "again.md").code == 0
    assert Path("again.html").read_bytes() == Path("first.html").read_bytes()
    assert Path("again.md").read_bytes() == Path("first.md").read_bytes()


def test_a_draft_renders_to_the_same_bytes_wherever_and_whenever(drafts: list[str]) -> None:
    Path("elsewhere").mkdir()
    moved = shutil.copy(drafts[0], "elsewhere/other.json")
    for kind in ("md", "html"):
        assert run("render", drafts[0], "--format", kind).out == run("render", moved, "--format", kind).out


def test_one_draft_goes_to_stdout(drafts: list[str]) -> None:
    assert run("render", drafts[0]).out.startswith("# ")
    assert run("render", drafts[0], "--format", "html").out.startswith("<!doctype html>")
    assert run("render", drafts[0], "--format", "html", "--theme", "article").err == ""


@pytest.mark.parametrize(
    ("words", "suffix"),
    [
        pytest.param(["-o", "pages"], "html", id="a folder"),
        pytest.param(["-o", "pages/"], "html", id="a folder, said to be one"),
        pytest.param(["-o", "pages", "--format", "md"], "md", id="as Markdown"),
        pytest.param(["-o", "pages", "--format", "html"], "html", id="as pages"),
    ],
)
def test_many_drafts_go_to_a_folder(words: list[str], suffix: str, drafts: list[str]) -> None:
    ran = run("render", *drafts, *words)
    assert (ran.code, ran.out) == (0, "")
    slug = slug_of(drafts[0])
    pages = {f"pages/{slug}-1-essay.{suffix}", f"pages/{slug}-3-essay.{suffix}"}
    assert files() == pages | set(drafts)
    assert ran.lines == [f"narrate: wrote {page}" for page in sorted(pages)]


def test_one_draft_goes_to_a_folder_that_is_there(drafts: list[str]) -> None:
    Path("site.v2").mkdir()
    assert run("render", drafts[0], "-o", "site.v2").code == 0
    assert files() - set(drafts) == {f"site.v2/{slug_of(drafts[0])}-1-essay.html"}


def test_a_draft_in_the_current_folder_is_named_after_that_folder(
    drafts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(drafts[0]).parent)
    assert run("render", "1-essay.json", "-o", str(tmp_path / "pages")).code == 0
    assert (tmp_path / "pages" / f"{slug_of(drafts[0])}-1-essay.html").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["gone.json"], "gone.json: no such file", id="no such draft"),
        pytest.param(["drafts"], "drafts: is a directory", id="a folder"),
        pytest.param(["session.json"], "session.json: not a draft: no `schema` key", id="a session"),
        pytest.param(["FIRST", "SECOND"], "several drafts, but there is no --output", id="two on stdout"),
        pytest.param(["FIRST", "SECOND", "-o", "a.html"], "--output a.html is one file", id="two in one file"),
        pytest.param(["FIRST", "FIRST", "-o", "pages"], "would both be written to pages/", id="the same twice"),
        pytest.param(["FIRST", "-o", "a.pdf"], "--output a.pdf", id="a suffix"),
        pytest.param(["FIRST", "--format", "pdf"], "--format pdf: md or html", id="a format"),
        pytest.param(["FIRST", "--theme", "x", "--format", "html"], "'x'", id="a theme"),
        pytest.param(["FIRST", "-o", "session.json/a.html"], "session.json is not a folder", id="a page in a file"),
        pytest.param(["FIRST", "gone.json", "-o", "pages"], "gone.json: no such file", id="one of two"),
    ],
)
def test_what_cannot_be_rendered_is_one_line_and_leaves_nothing(words: list[str], says: str, drafts: list[str]) -> None:
    write(Path(), export(user("a")))
    named = {"FIRST": drafts[0], "SECOND": drafts[1]}
    ran = run("render", *(named.get(word, word) for word in words))
    assert (ran.code, ran.out, len(ran.lines)) == (2, "", 1)
    assert says in ran.err
    assert files() == set(drafts)


def test_a_page_that_exists_is_replaced_only_by_force(drafts: list[str]) -> None:
    first, second = drafts
    taken = Path("pages") / f"{slug_of(second)}-3-essay.html"
    taken.parent.mkdir()
    taken.write_text("mine", "utf-8")
    refused = run("render", first, second, "-o", "pages")
    assert (refused.code, len(refused.lines)) == (2, 1)
    assert f"exists: {taken}" in refused.err
    assert [path.name for path in taken.parent.iterdir()] == [taken.name], "all or nothing"
    assert run("render", first, second, "-o", "pages", "--force").code == 0
    assert taken.read_text("utf-8").startswith("<!doctype html>")


# ---- on a terminal -----------------------------------------------------------------------------------------------


class Terminal:
    """Stands for stderr where a line can be drawn again."""

    def __init__(self) -> None:
        self.text = ""
        self.encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


def test_progress_is_drawn_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    times = iter([0.0, 0.05, 2.0, 2.01])
    monkeypatch.setattr(output, "time", SimpleNamespace(monotonic=lambda: next(times)))
    monkeypatch.setattr(sys, "stderr", terminal)
    with output.progress_line("the model") as (progress, notice):
        progress("one two")
        progress(" three four\n")
        progress("five")
        notice("the server is busy")
    monkeypatch.undo()
    assert "the model is writing … 4 words, 2 s" in terminal.text
    assert re.search(r"(^|\n|\r\x1b\[2K|\x1b\[\?25l)narrate: the server is busy\n", terminal.text)


@pytest.mark.parametrize("name", ["TERM", "nothing"])
def test_there_is_no_progress_where_no_line_can_be_drawn(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "TERM":
        monkeypatch.setattr(sys, "stderr", Terminal())
        monkeypatch.setenv("TERM", "dumb")
    with output.progress_line("m") as (progress, _):
        progress("one two")
    shown = sys.stderr.text if isinstance(sys.stderr, Terminal) else capsys.readouterr().err
    assert shown == ""


# ---- completion --------------------------------------------------------------------------------------------------


def test_a_shell_is_told_what_may_come_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_NARRATE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "narrate s")
    monkeypatch.setenv("COMP_CWORD", "1")
    ran = run()
    assert {"show", "styles"} <= set(ran.out.split())
    assert (ran.code, ran.err) == (0, "")
