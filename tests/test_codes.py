"""Codes: one a word, model or command, and none for what is none."""

from __future__ import annotations

import pytest

from narrator.codes import Models, Subjects, Words


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(b'"make"', b'"make"', True, id="the same"),
        pytest.param(b'"make"', b'" make\\n\\t"', True, id="white space round it"),
        pytest.param(b'"make"', b'"make all"', False, id="another"),
        pytest.param(b'"a\\\\"', b'"a\\\\n"', False, id="a backslash and a letter are no line break"),
        pytest.param(b'"make "', b'"make\\n"', True, id="both with white space"),
        pytest.param(b'file "a "', b'file "a"', False, id="the name of a file"),
        pytest.param(b'"a"', b'file "a"', False, id="a command and a file"),
    ],
)
def test_which_commands_are_the_same(one: bytes, other: bytes, same: bool) -> None:
    subjects = Subjects()
    numbers = [subjects[one], subjects[other], subjects[one], subjects[other]]
    assert numbers[:2] == numbers[2:]
    assert (numbers[0] == numbers[1]) == same
    assert 0 not in numbers


@pytest.mark.parametrize("nothing", [b"", b"null", b'""', b'"  "', b'" \\n"'])
def test_what_is_no_command(nothing: bytes) -> None:
    assert Subjects()[nothing] == 0


def test_different_commands_have_different_numbers() -> None:
    subjects = Subjects()
    stored = [b'"%d%s"' % (number, b" " * (number % 3)) for number in range(50)]
    assert len({subjects[one] for one in stored}) == 50


def test_a_model_without_a_provider_is_none() -> None:
    words = Words()
    models = Models(words)
    assert [models["acme", "large"], models[None, "large"], models["acme", None]] == [1, 0, 0]
    assert list(words) == [None, "acme/large"]
