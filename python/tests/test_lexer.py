"""Pygments finds the package's lexer, which knows all the words of a program."""

import pytest

token = pytest.importorskip("pygments.token")
lexers = pytest.importorskip("pygments.lexers")

SOURCE = """edition 2026
pipeline p = range(9) |> map { x: f32(i) * 0.5 } |> batch(4, tail: drop)
"""


def test_pygments_finds_the_lexer():
    assert lexers.get_lexer_for_filename("aug.pipe").name == "pipe"
    tokens = list(lexers.get_lexer_by_name("pipe").get_tokens(SOURCE))
    assert not [text for kind, text in tokens if kind is token.Error]
    kinds = {text: kind for kind, text in tokens}
    assert kinds["pipeline"] in token.Keyword
    assert kinds["range"] is token.Name.Builtin
    assert kinds["batch"] is token.Name.Function
