"""A Pygments lexer for `.pipe`, the pipelines that pipec compiles.

Pygments finds it where the package is installed: `pygmentize -l pipe`. Made from `editor/templates/lexer.py`.
"""

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
)

__all__ = ["PipeLexer"]

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
KEYWORDS = (@reserved_tuple@)
FUNCTIONS = (@functions_tuple@)
OPERATORS = (@operators_tuple@)
SOURCES = (@sources_tuple@)
DTYPES = (@dtypes_tuple@)
UNITS = (@units_tuple@)


class PipeLexer(RegexLexer):
    """The lexer, by the name `pipe` and for files `*.pipe`."""

    name = "pipe"
    aliases = ["pipe"]
    filenames = ["*.pipe"]
    mimetypes = ["text/x-pipe"]

    tokens = {
        "root": [
            (r"\s+", Text),
            (r"##(?!#).*", Comment.Special),
            (r"#.*", Comment.Single),
            (r'"', String.Double, "string"),
            (r"'[^'\n]*'?", String.Single),
            (
                r"\b(param|const|fn|pipeline)(\s+)(" + NAME + ")",
                bygroups(Keyword.Declaration, Text, Name.Function),
            ),
            (r"\b(else)(\s+)(skip|another|fail)\b", bygroups(Keyword, Text, Keyword)),
            (r"\bfrom(?=\s*[\"'])", Keyword),
            (r"\b(true|false)\b", Keyword.Constant),
            (words(KEYWORDS, prefix=r"\b", suffix=r"\b"), Keyword),
            (
                r"[0-9](_?[0-9])*(\.[0-9](_?[0-9])*)?([eE][+-]?[0-9]+)?("
                + "|".join(sorted(UNITS, key=len, reverse=True))
                + r")?\b",
                Number,
            ),
            (r"(\|>)(\s*)(" + NAME + ")", bygroups(Operator, Text, Name.Function)),
            (words(FUNCTIONS + SOURCES + OPERATORS, prefix=r"\b", suffix=r"\b(?=\s*\()"), Name.Builtin),
            (NAME + r"(?=\s*\()", Name.Function),
            (NAME + r"(?=\s*:)", Name.Attribute),
            (words(DTYPES, prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (NAME, Name),
            (r"\|>|->|\.\.|==|!=|<=|>=|\*\*|//|[-+*/%=<>?|!&]", Operator),
            (r"[()\[\]{},:.]", Punctuation),
            (r".", Error),
        ],
        "string": [
            (r'"', String.Double, "#pop"),
            (r"\n", Text, "#pop"),
            (r'\\(["\\nt]|u\{[0-9A-Fa-f]{1,6}\})', String.Escape),
            (r"\{\{", String.Double),
            (r"\{" + NAME + r"\}", String.Interpol),
            (r'[^"\\{\n]+', String.Double),
            (r".", String.Double),
        ],
    }
