"""Files that an argument names are part of the program."""

import pytest

import pipec

TEXT = """edition 2026
param words: path
pipeline p = range(6) |> map { id: lookup(text_of(i), words, unknown: -1) } |> batch(3)
"""


def ids(pipe):
    return [memoryview(batch["id"]).tolist() for batch in pipe]


def test_a_table_is_that_of_its_lines(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("4\n0\nß\n")
    lines = words.read_text().splitlines()
    pipe = pipec.load(TEXT, "p", params={"words": words})
    expected = [lines.index(str(i)) if str(i) in lines else -1 for i in range(6)]
    assert sum(ids(pipe), []) == expected
    # It was read, and is not read again.
    words.unlink()
    assert sum(ids(pipe), []) == expected


def test_another_table_is_another_program(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("4\n0\n")
    pipe = pipec.load(TEXT, "p", params={"words": words})
    next(iter(pipe))
    state = pipe.state_dict()
    pipec.load(TEXT, "p", params={"words": words}).load_state_dict(state)
    words.write_text("0\n4\n")
    again = pipec.load(TEXT, "p", params={"words": words})
    with pytest.raises(pipec.StateError, match="p.map#1"):
        again.load_state_dict(state)
        next(iter(again))


def test_what_is_no_table_is_told(tmp_path):
    with pytest.raises(pipec.CompileError, match="cannot find the file"):
        pipec.load(TEXT, "p", params={"words": tmp_path / "words.txt"})
