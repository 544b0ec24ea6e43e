//! The codes of the syntax, and the explanation of each.

codes! {
    "PC0001" UNEXPECTED "unexpected"
    "The program cannot be parsed at the marked place. The message names what is expected there. Often the mistake is \
     just before the mark: a missing or an extra character."
    wrong "const SIZE = 3 +"
    right "const SIZE = 3 + 1"

    "PC0002" SOURCE_SIZE "source-size"
    "A program is at most 1 MiB of text. Long lists of numbers or names are data: move them into a file that the \
     program reads (`lines`, `csv`, `jsonl`)."

    "PC0003" NESTING "nesting"
    "Brackets, `if`s and powers can be nested 64 deep, so that no program can exhaust the compiler. Move an inner part \
     into a `fn` or a `const`."

    "PC0004" DECLARATIONS "declarations"
    "A file has at most 10,000 declarations. Move some into another file and `use` them."

    "PC0005" CHAIN "chain-length"
    "An expression can have 256 operators and stages in a row, so that no program can exhaust the compiler. Move a \
     part into a `fn`, a `const` or a `pipeline`; write a long sum as the `sum` of a list."

    "PC0006" UNCLOSED "unclosed-bracket"
    "A bracket is not closed before its declaration ends, or a bracket of another kind is closed first. The mark is at \
     the opening bracket."
    wrong "const SIZES = [64, 128"
    right "const SIZES = [64, 128]"

    "PC0007" STRAY_BRACKET "stray-bracket"
    "A closing bracket has no matching opening bracket."
    wrong "const SIZES = [64, 128])"
    right "const SIZES = [64, 128]"

    "PC0008" UNCLOSED_TEXT "unclosed-text"
    "A string must end on the line on which it begins, with the same quote. A line break in it is written `\\n`, and a \
     quote inside `\"…\"` is written `\\\"`."
    wrong "const NAME = \"train"
    right "const NAME = \"train\""

    "PC0009" UNKNOWN_ESCAPE "unknown-escape"
    "In `\"…\"` a backslash begins an escape: `\\\"`, `\\\\`, `\\n`, `\\t` or `\\u{41}` (a Unicode \
     code point). In single quotes there are no escapes."
    wrong "const PATTERN = \"\\d+\""
    right "const PATTERN = '\\d+'"

    "PC0010" STRAY_CHARACTER "stray-character"
    "The character is only allowed in strings and comments. Typographic quotes and dashes are common causes."
    wrong "const NAME = “train”"
    right "const NAME = \"train\""

    "PC0011" UNKNOWN_UNIT "unknown-unit"
    "A word directly after a number is its unit: `ns us ms s min h` for time, `Hz kHz MHz` for frequency, \
     `B kB MB GB TB` and `KiB MiB GiB TiB` for sizes. Units are case-sensitive."
    wrong "const WINDOW = 25mss"
    right "const WINDOW = 25ms"

    "PC0012" NUMBER_RANGE "number-range"
    "An integer is an `i64`, from -2 ** 63 to 2 ** 63 - 1; any other number is at most 1.79e308 (the largest `f64`). A \
     larger integer is not converted to a float: write it with an exponent if you mean a float. A number takes the type of \
     the value that it meets, and has to fit in it: `u8` ends at 255."
    wrong "const BIG = 99_999_999_999_999_999_999"
    right "const BIG = 9_223_372_036_854_775_807"

    "PC0013" UNKNOWN_EDITION "unknown-edition"
    "`edition` is the version of the language that a file is written in, so that old files keep compiling when the \
     language changes. This compiler does not know the given edition: it is mistyped, or newer than the compiler."
    wrong "edition 1926"
    right "edition 2026"

    "PC0014" EDITION_PLACE "edition-place"
    "The edition decides how a file is parsed, so it must come first in the file, once."
    wrong "const A = 1\n    edition 2026"
    right "edition 2026\n    const A = 1"

    "PC0015" RESERVED_WORD "reserved-word"
    "Keywords cannot be used as names of parameters, fields or definitions: `param const fn \
     extern pipeline use edition map flat_map with where if then else and or not in as for true false`, and `it`, \
     which is the whole record."
    wrong "fn f(map) = 1"
    right "fn f(map_) = 1"

    "PC0016" MISSING_EQUALS "missing-equals"
    "`=` separates a name from its definition, also for a `fn` and a `pipeline`."
    wrong "fn half(x): x / 2"
    right "fn half(x) = x / 2"

    "PC0017" NO_DECLARATION "no-declaration"
    "A file is a sequence of declarations, and each begins with a keyword: `param` (set from outside), `const` (a \
     value), `fn` (a function of values), `extern fn` (a function written in Python), `pipeline` (a stream) or `use` \
     (an import). There are no statements, assignments or loops."
    wrong "train = files(\"*.jpg\")"
    right "pipeline train = files(\"*.jpg\")"

    "PC0018" DOC_PLACE "doc-place"
    "`##` begins a doc comment: it documents the declaration below it and is shown in editors. Any other comment \
     begins with `#`."
    wrong "const A = 1 ## one"
    right "const A = 1 # one"

    "PC0019" MISSING_COMMA "missing-comma"
    "Values inside brackets are separated by commas."
    wrong "const SIZES = [64 128]"
    right "const SIZES = [64, 128]"

    "PC0020" MISSING_ELSE "missing-else"
    "`if c then a else b` is a value, so it needs both branches. To drop records, use `where`."
    wrong "fn f(x) = if x > 0 then x"
    right "fn f(x) = if x > 0 then x else 0"

    "PC0021" OPTIONAL_FORMAL "optional-formal"
    "`name: type?` marks an optional parameter without a default, which only the library can use, since a `fn` or \
     `pipeline` cannot test whether it was given. Give the parameter a default."
    wrong "fn f(x: i32?) = 1"
    right "fn f(x: i32 = 0) = 1"

    "PC0022" TEXT_HOLE "text-hole"
    "`{name}` in a string is replaced by the value of a parameter, but the file of a `use` and the function of an \
     `extern fn` are resolved before parameters have values."
    wrong "use train from \"{folder}/train.pipe\""
    right "use train from \"common/train.pipe\""

    "PC0023" UNIT_APART "unit-apart"
    "A unit directly follows its number, without a space."
    wrong "const RATE = 16 kHz"
    right "const RATE = 16kHz"

    "PC0024" MISSING_COLON "missing-colon"
    "In a declaration `:` gives a type to a name."
    wrong "param size i32 = 224"
    right "param size: i32 = 224"

    "PC0030" EQUALS_ARGUMENT "equals-argument"
    "In calls and records, `:` gives a value to a name. `=` is for definitions and defaults."
    wrong "fn f(x) = random_flip(x, p=0.5)"
    right "fn f(x) = random_flip(x, p: 0.5)"

    "PC0031" COMPARISON_CHAIN "comparison-chain"
    "A comparison has two operands. Write two comparisons joined by `and`, or test for an interval: `x in 0..9`."
    wrong "fn f(x) = 0 < x < 9"
    right "fn f(x) = 0 < x and x < 9"

    "PC0032" SLASH_COMMENT "slash-comment"
    "A comment begins with `#`. `//` is integer division."
    wrong "// how many records make a batch\n    const SIZE = 8"
    right "# how many records make a batch\n    const SIZE = 8"

    "PC0033" LAMBDA "lambda"
    "Lambdas are not supported. `map`, `with`, `where` and `flat_map` take an expression in which the fields of the \
     record are available by name and `it` is the whole record; for anything longer, define a `fn`."
    wrong "pipeline p = range(9) |> map(lambda x: x + 1)"
    right "pipeline p = range(9) |> map { y: i + 1 }"

    "PC0034" COLON_INTERVAL "colon-interval"
    "An interval is written `a..b` and includes both bounds. `a:b` is a slice and only allowed in an index, where it \
     excludes the upper bound as in NumPy."
    wrong "fn f(x) = len(x) in 1:256"
    right "fn f(x) = len(x) in 1..256"

    "PC0035" DEF "def"
    "A function is defined as `fn name(x) = value`: a single expression, without `return`."
    wrong "def half(x): return x / 2"
    right "fn half(x) = x / 2"

    "PC0036" IMPORT "import"
    "`use a, b from \"file.pipe\"` imports declarations from another file. Functions written in Python are declared, \
     with their types, by `extern fn`."
    wrong "from common import train"
    right "use train from \"common.pipe\""

    "PC0037" EQUALS_FIELD "equals-field"
    "Fields of a record are written with `:`."
    wrong "fn f(x) = { y = x }"
    right "fn f(x) = { y: x }"

    "PC0038" AMPERSANDS "ampersands"
    "Logical and is written `and`."
    wrong "fn f(x) = x > 0 && x < 9"
    right "fn f(x) = x > 0 and x < 9"

    "PC0039" BARS "bars"
    "Logical or is written `or`."
    wrong "fn f(x) = x < 0 || x > 9"
    right "fn f(x) = x < 0 or x > 9"

    "PC0040" EXCLAMATION "exclamation"
    "Negation is written `not`; `!` only occurs in `!=`."
    wrong "fn f(x) = !x"
    right "fn f(x) = not x"

    "PC0041" CAPITAL_TRUTH "capital-truth"
    "Booleans are written in lower case: `true`, `false`."
    wrong "fn f(x) = resize(x, 8, 8, antialias: False)"
    right "fn f(x) = resize(x, 8, 8, antialias: false)"

    "PC0042" NONE "none"
    "There is no null value. Omit an argument that you do not need; `missing:` of a source says what becomes of \
     missing data, and `else` handles failures."
    wrong "fn f(x) = g(x, size: None)"
    right "fn f(x) = g(x)"

    "PC0043" SEMICOLON "semicolon"
    "Declarations need no terminator: one ends where the next begins."
    wrong "const SIZE = 8;"
    right "const SIZE = 8"

    "PC0044" PYTHON_IF "python-if"
    "A conditional is written `if c then a else b`."
    wrong "fn f(x) = x if x > 0 else 0"
    right "fn f(x) = if x > 0 then x else 0"

    "PC0045" SINGLE_BAR "single-bar"
    "The pipeline operator is `|>`. A single `|` only separates the keywords of a type."
    wrong "fn f(x) = x | half"
    right "fn f(x) = x |> half"

    "PC0046" METHOD_CALL "method-call"
    "There are no methods: `x |> f(a)` is `f(x, a)`."
    wrong "fn f(image) = image.resize(8, 8)"
    right "fn f(image) = image |> resize(8, 8)"

    "PC0047" TEXT_PREFIX "text-prefix"
    "Every string in double quotes interpolates `{name}`, so it needs no `f`; strings in single quotes are raw, so \
     they need no `r`. There are no bytes literals."
    wrong "const NAME = f\"{data}/train\""
    right "const NAME = \"{data}/train\""

    "PC0048" BARE_POINT "bare-point"
    "A number needs digits on both sides of the decimal point."
    wrong "const HALF = .5"
    right "const HALF = 0.5"

    "PC0049" SLICE_STEP "slice-step"
    "A slice has two bounds and no step."
    wrong "fn f(x) = x[0:8:2]"
    right "fn f(x) = x[0:8]"

    "PC0050" QUOTED_FIELD "quoted-field"
    "Field names are written without quotes: `{ image: x }`."
    wrong "fn f(x) = { \"image\": x }"
    right "fn f(x) = { image: x }"

    "PC0051" TUPLE "tuple"
    "Parentheses only group. For several values, use a list or a record."
    wrong "const SIZE = (224, 224)"
    right "const SIZE = [224, 224]"

    "PC0052" COMPREHENSION_FILTER "comprehension-filter"
    "`[e for x in xs]` has as many elements as `xs`. To drop records, use `where`."
    wrong "fn f(xs) = [x for x in xs if x > 0]"
    right "fn f(xs) = [max(x, 0) for x in xs]"

    "PC0053" MODULE_CALL "module-call"
    "There are no modules: `np.sqrt` in Python is `sqrt` here, and many functions have another name. `pipec doc` \
     lists all functions, and `pipec doc NAME` also knows many names from PyTorch, tf.data, DALI and pandas."
    wrong "fn f(x) = np.float32(x)"
    right "fn f(x) = f32(x)"

    "PC0054" QUOTED_HOLE "quoted-hole"
    "`{name}` in a string is replaced by the value of that name. Expressions cannot be interpolated, and a quote \
     inside one ends the string: concatenate with `+`, or give the value a name in an earlier step. A literal brace \
     is written `{{`."
    wrong "pipeline p = jsonl(\"a.jsonl\") |> map { text: \"by {row[\"author\"]}\" }"
    right "pipeline p = jsonl(\"a.jsonl\") |> with { author: row[\"author\"] } |> map { text: \"by {author}\" }"
}
