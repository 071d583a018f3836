"""The bytes of a recording: files, links, pipes, gzip, byte order marks, and every way in which there are none."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import subprocess
import sys
import tarfile
import time
import zlib
from pathlib import Path

import pytest

from narrator.errors import SessionError
from narrator.source import UNPACKED_CAP, Source, read_source

TEXT = '{"messages": []} – café'
DATA = TEXT.encode()


def stored(folder: Path, data: bytes, name: str = "session.json") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


def whole(source: Source) -> tuple[str, bytes, tuple[str, ...]]:
    return source.name, source.data, source.notices


def refusal(path: str, **options: int) -> str:
    with pytest.raises(SessionError) as caught:
        read_source(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def give_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_plain_file_is_read_as_it_stands(tmp_path: Path) -> None:
    source = read_source(stored(tmp_path, DATA))
    assert (source.name, source.data, source.notices) == ("session.json", DATA, ())
    assert (source.read(2, 8), source.read(len(DATA) - 2, 9)) == (DATA[2:10], DATA[-2:])


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(codecs.BOM_UTF8 + DATA, [], id="a UTF-8 mark"),
        pytest.param(
            codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), ["UTF-16-LE"], id="UTF-16, as PowerShell 5 writes"
        ),
        pytest.param(codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), ["UTF-16-BE"], id="UTF-16, big-endian"),
        pytest.param(
            codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), ["UTF-32-LE"], id="UTF-32, whose mark begins as UTF-16's"
        ),
        pytest.param(codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"), ["UTF-32-BE"], id="UTF-32, big-endian"),
        pytest.param(gzip.compress(codecs.BOM_UTF8 + DATA), ["gzip under another name"], id="a mark inside a gzip"),
    ],
)
def test_a_byte_order_mark_is_obeyed_and_gone(tmp_path: Path, data: bytes, told: list[str]) -> None:
    source = read_source(stored(tmp_path, data))
    assert source.data.strip() == DATA
    assert len(source.notices) == len(told)
    assert all(
        words in notice and notice.startswith("session.json: ")
        for words, notice in zip(told, source.notices, strict=True)
    )


def test_a_utf8_mark_is_blanked_so_that_offsets_are_those_of_the_file(tmp_path: Path) -> None:
    assert read_source(stored(tmp_path, codecs.BOM_UTF8 + DATA)).data.index(b"messages") == 3 + DATA.index(b"messages")


@pytest.mark.parametrize("cut", [1, 3], ids=["one byte short", "three bytes short"])
def test_utf16_that_ends_inside_a_character_is_read_to_its_end(tmp_path: Path, cut: int) -> None:
    data = codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le")
    assert read_source(stored(tmp_path, data[:-cut])).data.startswith(b'{"messages": []}')


def test_a_lone_surrogate_in_utf16_becomes_a_replacement_character(tmp_path: Path) -> None:
    data = codecs.BOM_UTF16_LE + b"a\x00\x3d\xd8b\x00"
    assert read_source(stored(tmp_path, data)).data.decode() == "a\ufffdb"


def test_bytes_that_are_not_utf8_are_left_to_whoever_decodes(tmp_path: Path) -> None:
    assert read_source(stored(tmp_path, b"caf\xe9")).data == b"caf\xe9"


def test_a_nul_byte_inside_is_kept(tmp_path: Path) -> None:
    assert read_source(stored(tmp_path, b"a\x00b")).data == b"a\x00b"


@pytest.mark.parametrize(
    ("data", "size"),
    [
        pytest.param(b"", 0, id="no byte at all"),
        pytest.param(b" \r\n\t\n", 5, id="white space"),
        pytest.param(b"\x00" * 512, 512, id="NUL bytes, as a full disk leaves"),
        pytest.param(codecs.BOM_UTF8, 3, id="a byte order mark alone"),
        pytest.param(gzip.compress(b""), 0, id="an empty gzip"),
    ],
)
def test_an_empty_file_is_called_empty(tmp_path: Path, data: bytes, size: int) -> None:
    assert refusal(stored(tmp_path, data)) == (
        f"session.json: the file is empty ({size} bytes); `opencode export ID > file` writes one"
    )


# --- what is no file -----------------------------------------------------------------------------------------------


def test_a_missing_file_is_called_missing(tmp_path: Path) -> None:
    path = str(tmp_path / "gone.json")
    assert refusal(path) == f"no such file: {path}"


def test_a_dangling_link_is_called_by_its_name_and_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to("gone/elsewhere.json")
    assert refusal(str(link)) == f"no such file: {link} (a link to gone/elsewhere.json)"


def test_a_link_to_a_file_is_followed_and_keeps_its_own_name(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(stored(tmp_path, DATA))
    assert whole(read_source(str(link))) == ("link.json", DATA, ())


def test_a_link_to_itself_is_an_error_of_one_line(tmp_path: Path) -> None:
    link = tmp_path / "loop.json"
    link.symlink_to(link)
    assert refusal(str(link)).startswith(f"cannot read {link}: ")


def test_a_directory_is_called_a_directory(tmp_path: Path) -> None:
    assert refusal(str(tmp_path)) == f"{tmp_path} is a directory; give one session file of it"


def test_a_path_through_a_file_is_an_error_of_one_line(tmp_path: Path) -> None:
    path = stored(tmp_path, DATA) + "/inner.json"
    assert refusal(path) == f"cannot read {path}: not a directory"


@pytest.mark.parametrize("path", ["a\x00b", "x" * 5000], ids=["a NUL in the path", "a name longer than any"])
def test_a_path_that_no_system_takes_is_an_error_of_one_line(path: str) -> None:
    assert refusal(path).startswith(f"cannot read {path}: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_no_missing_one(tmp_path: Path) -> None:
    path = stored(tmp_path, DATA)
    Path(path).chmod(0)
    assert refusal(path) == f"permission denied: {path}"


def test_permission_is_told_apart_also_where_root_runs_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert refusal("secret.json") == "permission denied: secret.json"


def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.json"
    os.mkfifo(fifo)
    with subprocess.Popen(["/bin/sh", "-c", f"printf '%s' '{TEXT}' > {fifo}"]):
        assert read_source(str(fifo)).data == DATA


def test_a_process_substitution_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, DATA)
    finally:
        os.close(writing)
    try:
        assert whole(read_source(f"/dev/fd/{reading}")) == (str(reading), DATA, ())
    finally:
        os.close(reading)


# --- standard input ------------------------------------------------------------------------------------------------


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, DATA)
    assert whole(read_source("-")) == ("stdin", DATA, ())


def test_a_gzip_on_standard_input_is_no_file_with_a_wrong_name(monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, gzip.compress(DATA))
    assert whole(read_source("-")) == ("stdin", DATA, ())


@pytest.mark.parametrize(
    "data", [b"", b"\n", gzip.compress(b" ")], ids=["nothing", "an empty line", "a gzip of a blank"]
)
def test_empty_standard_input_points_at_the_left_of_the_pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    give_stdin(monkeypatch, data)
    assert refusal("-") == "stdin is empty; the command on the left of the pipe wrote nothing (did it fail?)"


def test_a_file_that_is_called_stdin_is_a_file(tmp_path: Path) -> None:
    assert refusal(stored(tmp_path, b"", "stdin")).startswith("stdin: the file is empty")


def test_closed_standard_input_is_called_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal("-") == "stdin is closed; pipe a recording in, or name a file"


def test_standard_input_that_cannot_be_read_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        class buffer:  # noqa: N801  # as the stream has it
            @staticmethod
            def read() -> bytes:
                raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(sys, "stdin", Broken)
    assert refusal("-") == "cannot read stdin: bad file descriptor"


# --- gzip and other containers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["session.json.gz", "SESSION.JSON.GZ"])
def test_a_gzip_under_its_own_name_is_unpacked_without_a_word(tmp_path: Path, name: str) -> None:
    assert whole(read_source(stored(tmp_path, gzip.compress(DATA), name))) == (name, DATA, ())


def test_a_gzip_under_another_name_is_unpacked_and_told(tmp_path: Path) -> None:
    source = read_source(stored(tmp_path, gzip.compress(DATA)))
    assert whole(source) == ("session.json", DATA, ("session.json: gzip under another name, unpacked",))


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(b"", id="nothing behind"),
        pytest.param(b"\x00" * 512, id="NUL padding behind"),
        pytest.param(b"garbage", id="garbage behind, as gzip itself ignores it"),
    ],
)
def test_all_members_of_a_gzip_are_read(tmp_path: Path, tail: bytes) -> None:
    members = b"".join(gzip.compress(bytes([byte])) for byte in DATA)
    assert read_source(stored(tmp_path, members + tail, "s.gz")).data == DATA


def test_many_members_do_not_cost_their_square(tmp_path: Path) -> None:
    member = gzip.compress(b"x" * 1000)
    path = stored(tmp_path, member * 40_000, "s.gz")
    begun = time.process_time()
    assert len(read_source(path).data) == 40_000_000
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("cut", range(2, len(gzip.compress(DATA))))
def test_a_gzip_that_is_cut_anywhere_says_so(tmp_path: Path, cut: int) -> None:
    path = stored(tmp_path, gzip.compress(DATA)[:cut], "s.gz")
    assert refusal(path).startswith("s.gz: the gzip ends early, after ")


def test_a_gzip_that_is_cut_in_its_second_member_says_so(tmp_path: Path) -> None:
    path = stored(tmp_path, gzip.compress(DATA) + gzip.compress(DATA)[:-4], "s.gz")
    assert refusal(path) == f"s.gz: the gzip ends early, after {2 * len(DATA)} unpacked bytes; copy it again"


def test_a_damaged_gzip_says_so(tmp_path: Path) -> None:
    damaged = bytearray(gzip.compress(DATA))
    damaged[-5] ^= 1  # in the checksum
    assert refusal(stored(tmp_path, bytes(damaged), "s.gz")).startswith("s.gz: damaged gzip (")


@pytest.mark.parametrize(("size", "fits"), [(999, True), (1000, True), (1001, False), (50_000_000, False)])
def test_a_bomb_stops_at_the_cap(tmp_path: Path, size: int, fits: bool) -> None:
    path = stored(tmp_path, gzip.compress(b"x" * size), "bomb.gz")
    if fits:
        assert len(read_source(path, cap=1000).data) == size
    else:
        assert refusal(path, cap=1000) == "bomb.gz: unpacks to more than 1,000 bytes; refused"


def test_a_bomb_of_many_members_stops_at_the_cap_too(tmp_path: Path) -> None:
    path = stored(tmp_path, gzip.compress(b"x" * 400) * 3, "bomb.gz")
    assert "more than 1,000 bytes" in refusal(path, cap=1000)


def test_the_cap_leaves_room_for_any_session() -> None:
    assert UNPACKED_CAP == 4 * 1024**3


def tar_of(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("session.json")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(b"\x28\xb5\x2f\xfd\x00", "this is zstd; unpack it first", id="zstd"),
        pytest.param(b"SQLite format 3\x00", "this is an SQLite database; give the JSON of", id="opencode.db"),
        pytest.param(b"PK\x03\x04", "this is a ZIP archive (as Inspect's .eval is)", id="an .eval of Inspect"),
        pytest.param(tar_of(DATA), "this is a tar archive; unpack it first", id="a storage folder in a tar"),
        pytest.param(gzip.compress(tar_of(DATA)), "this is a tar archive; unpack it first", id="the same in a gzip"),
    ],
)
def test_another_container_is_called_by_its_name(tmp_path: Path, data: bytes, said: str) -> None:
    assert refusal(stored(tmp_path, data, "s.gz")).startswith(f"s.gz: {said}")


def test_json_that_speaks_of_ustar_just_there_is_no_archive(tmp_path: Path) -> None:
    data = b'{"a": "'.ljust(257) + b'ustar "}'
    assert read_source(stored(tmp_path, data)).data == data


def test_deflate_without_a_gzip_around_it_is_left_as_it_is(tmp_path: Path) -> None:
    data = zlib.compress(DATA)
    assert read_source(stored(tmp_path, data)).data == data


def test_a_file_that_can_no_longer_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(io.FileIO):
        def readinto(self, _: object) -> int:
            raise OSError(5, "Input/output error")

        def read(self, _: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    path = stored(tmp_path, DATA)
    source = Source("s.json", Failing(path))
    with pytest.raises(SessionError, match=r"cannot read s\.json: input/output error"):
        source.read(0, 5)
    monkeypatch.setattr(Path, "open", lambda *_, **__: Failing(path))
    assert refusal(path) == f"cannot read {path}: input/output error"
