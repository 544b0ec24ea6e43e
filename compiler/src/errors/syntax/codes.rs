//! The codes of the syntax, and the long story of each.

codes! {
    "PC0001" UNEXPECTED "unexpected"
    "The text cannot be read beyond the marked place: what stands there does not go with what stands before it. \
     The message names what could stand there instead. Often the mistake is just before the mark: a sign that is \
     missing, or one too many."
    wrong "const SIZE = 3 +"
    right "const SIZE = 3 + 1"

    "PC0002" SOURCE_SIZE "source-size"
    "A program is at most 1 MiB of text. Long lists of numbers or names are data: put them into a file that the \
     program reads (`lines`, `csv`, `jsonl`)."

    "PC0003" NESTING "nesting"
    "Brackets, `if`s and powers may stand inside each other 64 deep, so that no text can exhaust the compiler. \
     Give an inner part a name, as a `fn` or a `const`."

    "PC0004" DECLARATIONS "declarations"
    "A file has at most 10,000 declarations. Move some into another file and `use` them."

    "PC0005" CHAIN "chain-length"
    "One expression may be 256 signs and stages deep, so that no text can exhaust the compiler. Give a part of \
     it a name, as a `fn`, a `const` or a `pipeline`; a long sum is the `sum` of a list."

    "PC0006" UNCLOSED "unclosed-bracket"
    "A bracket is opened and nothing closes it before its declaration ends, or a bracket of another kind closes \
     first. The mark is at the bracket that was opened."
    wrong "const SIZES = [64, 128"
    right "const SIZES = [64, 128]"

    "PC0007" STRAY_BRACKET "stray-bracket"
    "A bracket closes nothing: none of its kind is open there."
    wrong "const SIZES = [64, 128])"
    right "const SIZES = [64, 128]"

    "PC0008" UNCLOSED_TEXT "unclosed-text"
    "A text ends on the line on which it begins, with the quote that it began with. A line break inside a text is \
     written `\\n`, and a quote inside `\"…\"` is written `\\\"`."
    wrong "const NAME = \"train"
    right "const NAME = \"train\""

    "PC0009" UNKNOWN_ESCAPE "unknown-escape"
    "In `\"…\"` a backslash begins an escape: `\\\"`, `\\\\`, `\\n`, `\\t` or `\\u{41}` (a character by its number \
     in Unicode). Between single quotes everything is as it stands, backslashes too."
    wrong "const PATTERN = \"\\d+\""
    right "const PATTERN = '\\d+'"

    "PC0010" STRAY_CHARACTER "stray-character"
    "A character means nothing outside texts and comments: a quote or a dash of a word processor, a sign of \
     another language."
    wrong "const NAME = “train”"
    right "const NAME = \"train\""

    "PC0011" UNKNOWN_UNIT "unknown-unit"
    "A word directly behind a number is its unit: `ns us ms s min h` for time, `Hz kHz MHz` for frequency, \
     `B kB MB GB TB` and `KiB MiB GiB TiB` for sizes. Capitals count."
    wrong "const WINDOW = 25mss"
    right "const WINDOW = 25ms"

    "PC0012" NUMBER_RANGE "number-range"
    "An integer is an `i64`, from -2 ** 63 to 2 ** 63 - 1; any other number is at most 1.79e308 (the largest `f64`). A \
     larger integer is never taken for a float: write it with an exponent where that is meant."
    wrong "const BIG = 99_999_999_999_999_999_999"
    right "const BIG = 9_223_372_036_854_775_807"

    "PC0013" UNKNOWN_EDITION "unknown-edition"
    "`edition` names the year of the language that a file is written in, so that old files go on compiling when \
     the language changes. This compiler does not know the one that is named: it is mistyped, or the compiler is \
     older than the file."
    wrong "edition 1926"
    right "edition 2026"

    "PC0014" EDITION_PLACE "edition-place"
    "The edition decides how a file is read, so it stands above all else, once."
    wrong "const A = 1\n    edition 2026"
    right "edition 2026\n    const A = 1"

    "PC0015" RESERVED_WORD "reserved-word"
    "Some words belong to the language and cannot name a parameter, a field or a definition: `param const fn \
     extern pipeline use edition map flat_map with where if then else and or not in as for true false`, and `it`, \
     which is the whole record."
    wrong "fn f(map) = 1"
    right "fn f(map_) = 1"

    "PC0016" MISSING_EQUALS "missing-equals"
    "`=` stands between what is defined and its value, also for a `fn` and a `pipeline`."
    wrong "fn half(x): x / 2"
    right "fn half(x) = x / 2"

    "PC0017" NO_DECLARATION "no-declaration"
    "A file is a row of declarations, and each begins with the word that says what it is: `param` (set from \
     outside), `const` (a value), `fn` (a function of values), `extern fn` (one written in Python), `pipeline` (a \
     stream) or `use` (from another file). There are no statements: nothing is assigned, returned or looped over."
    wrong "train = files(\"*.jpg\")"
    right "pipeline train = files(\"*.jpg\")"

    "PC0018" DOC_PLACE "doc-place"
    "A comment with two signs, `##`, describes the declaration below it and shows in editors and documents. Any \
     other comment has one."
    wrong "const A = 1 ## one"
    right "const A = 1 # one"

    "PC0019" MISSING_COMMA "missing-comma"
    "Between brackets, values are kept apart by commas."
    wrong "const SIZES = [64 128]"
    right "const SIZES = [64, 128]"

    "PC0020" MISSING_ELSE "missing-else"
    "`if c then a else b` is a value, so it says both. To let records go, use `where`."
    wrong "fn f(x) = if x > 0 then x"
    right "fn f(x) = if x > 0 then x else 0"

    "PC0021" OPTIONAL_FORMAL "optional-formal"
    "`name: type?` marks a parameter of the library's own entries that may be left out though it has no default. \
     A `fn` or `pipeline` of a file could not ask whether it was; give the parameter a default."
    wrong "fn f(x: i32?) = 1"
    right "fn f(x: i32 = 0) = 1"

    "PC0022" TEXT_HOLE "text-hole"
    "`{name}` in a text is filled in with a parameter, but the file of a `use` and the function of an `extern fn` \
     are looked up before any parameter has a value."
    wrong "use train from \"{folder}/train.pipe\""
    right "use train from \"common/train.pipe\""

    "PC0023" UNIT_APART "unit-apart"
    "A unit stands directly behind its number, without a space."
    wrong "const RATE = 16 kHz"
    right "const RATE = 16kHz"

    "PC0024" MISSING_COLON "missing-colon"
    "In a declaration `:` gives a type to a name."
    wrong "param size i32 = 224"
    right "param size: i32 = 224"

    "PC0030" EQUALS_ARGUMENT "equals-argument"
    "Inside brackets `:` gives a value to a name, in a call as in a record; `=` defines, or gives a default."
    wrong "fn f(x) = random_flip(x, p=0.5)"
    right "fn f(x) = random_flip(x, p: 0.5)"

    "PC0031" COMPARISON_CHAIN "comparison-chain"
    "A comparison has two sides. Say both comparisons, or ask for an interval, which has both its ends."
    wrong "fn f(x) = 0 < x < 9"
    right "fn f(x) = 0 < x and x < 9"

    "PC0032" SLASH_COMMENT "slash-comment"
    "A comment begins with `#` and ends with its line. `//` divides and rounds down."
    wrong "// how many records make a batch\n    const SIZE = 8"
    right "# how many records make a batch\n    const SIZE = 8"

    "PC0033" LAMBDA "lambda"
    "There are no functions without a name. `map`, `with`, `where` and `flat_map` take an expression in which the \
     fields of the record have their names and `it` is the whole record; for anything larger, write a `fn`."
    wrong "pipeline p = range(9) |> map(lambda x: x + 1)"
    right "pipeline p = range(9) |> map { y: i + 1 }"

    "PC0034" COLON_INTERVAL "colon-interval"
    "An interval is written `a..b` and has both its ends. `a:b` stands in an index only, where it is NumPy's \
     slice, without its upper end."
    wrong "fn f(x) = len(x) in 1:256"
    right "fn f(x) = len(x) in 1..256"

    "PC0035" DEF "def"
    "A function is `fn name(x) = value`: one expression, without `return`."
    wrong "def half(x): return x / 2"
    right "fn half(x) = x / 2"

    "PC0036" IMPORT "import"
    "`use a, b from \"file.pipe\"` takes declarations from another file. What is written in Python is declared, \
     with its types, by `extern fn`."
    wrong "from common import train"
    right "use train from \"common.pipe\""

    "PC0037" EQUALS_FIELD "equals-field"
    "A record gives values to its fields with `:`."
    wrong "fn f(x) = { y = x }"
    right "fn f(x) = { y: x }"

    "PC0038" AMPERSANDS "ampersands"
    "Both must hold: `and`."
    wrong "fn f(x) = x > 0 && x < 9"
    right "fn f(x) = x > 0 and x < 9"

    "PC0039" BARS "bars"
    "One must hold: `or`."
    wrong "fn f(x) = x < 0 || x > 9"
    right "fn f(x) = x < 0 or x > 9"

    "PC0040" EXCLAMATION "exclamation"
    "The opposite is `not`; only `!=` has an exclamation mark."
    wrong "fn f(x) = !x"
    right "fn f(x) = not x"

    "PC0041" CAPITAL_TRUTH "capital-truth"
    "Truth values are written small: `true`, `false`."
    wrong "fn f(x) = resize(x, 8, 8, antialias: False)"
    right "fn f(x) = resize(x, 8, 8, antialias: false)"

    "PC0042" NONE "none"
    "There is no value that stands for no value. An argument that is not wanted is left out; where data may lack \
     something, a reader says what it does (`missing:`); what fails is taken by `else`."
    wrong "fn f(x) = g(x, size: None)"
    right "fn f(x) = g(x)"

    "PC0043" SEMICOLON "semicolon"
    "A declaration ends where the next one begins; nothing marks its end."
    wrong "const SIZE = 8;"
    right "const SIZE = 8"

    "PC0044" PYTHON_IF "python-if"
    "A choice is written in the order in which it is made: `if c then a else b`."
    wrong "fn f(x) = x if x > 0 else 0"
    right "fn f(x) = if x > 0 then x else 0"

    "PC0045" SINGLE_BAR "single-bar"
    "What flows on is written `|>`. A single `|` stands between the words of a type."
    wrong "fn f(x) = x | half"
    right "fn f(x) = x |> half"

    "PC0046" METHOD_CALL "method-call"
    "Values have fields, and functions stand apart: `x |> f(a)` is `f(x, a)`."
    wrong "fn f(image) = image.resize(8, 8)"
    right "fn f(image) = image |> resize(8, 8)"

    "PC0047" TEXT_PREFIX "text-prefix"
    "Every text in double quotes fills in `{name}`, so it needs no `f`; between single quotes a text is as it \
     stands, so it needs no `r`. Bytes are read, never written."
    wrong "const NAME = f\"{data}/train\""
    right "const NAME = \"{data}/train\""

    "PC0048" BARE_POINT "bare-point"
    "A number has digits on both sides of its point."
    wrong "const HALF = .5"
    right "const HALF = 0.5"

    "PC0049" SLICE_STEP "slice-step"
    "A slice has two ends and no step."
    wrong "fn f(x) = x[0:8:2]"
    right "fn f(x) = x[0:8]"

    "PC0050" QUOTED_FIELD "quoted-field"
    "Fields have names, without quotes: `{ image: x }`."
    wrong "fn f(x) = { \"image\": x }"
    right "fn f(x) = { image: x }"

    "PC0051" TUPLE "tuple"
    "Round brackets only say what belongs together. Several values are a list or a record."
    wrong "const SIZE = (224, 224)"
    right "const SIZE = [224, 224]"

    "PC0052" COMPREHENSION_FILTER "comprehension-filter"
    "`[e for x in xs]` has as many elements as `xs`. To leave records out, use `where`."
    wrong "fn f(xs) = [x for x in xs if x > 0]"
    right "fn f(xs) = [max(x, 0) for x in xs]"

    "PC0053" MODULE_CALL "module-call"
    "Functions have names without modules: what is called `np.sqrt` in Python is `sqrt`, and much has a name of its own. \
     `pipec doc` lists all functions, and `pipec doc NAME` also knows many names of PyTorch, tf.data, DALI and pandas."
    wrong "fn f(x) = np.float32(x)"
    right "fn f(x) = f32(x)"

    "PC0054" QUOTED_HOLE "quoted-hole"
    "`{name}` in a text is filled in with what has the name. An expression is not, and a quote within it ends the text: \
     put the pieces together with `+`, or give the value a name in a step before. A brace before a name that is meant as \
     it stands is `{{`."
    wrong "pipeline p = jsonl(\"a.jsonl\") |> map { text: \"by {row[\"author\"]}\" }"
    right "pipeline p = jsonl(\"a.jsonl\") |> with { author: row[\"author\"] } |> map { text: \"by {author}\" }"
}
