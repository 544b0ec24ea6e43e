//! The codes of the checker, and the long story of each.

codes! {
    "PC0101" DECLARED_TWICE "declared-twice"
    "Two declarations of one file have the same name, or a record, a call or a head gives one name twice. Names \
     that are called (`fn`, `pipeline` with parameters) and names that are not are looked up apart, so one of each \
     may share a name."
    wrong "const SIZE = 3\n    const SIZE = 4"
    right "const SIZE = 3\n    const LARGE = 4"

    "PC0102" NOT_DECLARED_THERE "not-declared-there"
    "`use` names something that the other file does not declare. Names that the other file itself uses from a third \
     are not passed on."

    "PC0103" UNKNOWN_NAME "unknown-name"
    "A name means nothing at this place. A name is a field of the record that flows here, else a parameter of the \
     definition, else of the file. Behind `map` only the fields that `map` wrote are left."
    wrong "pipeline p = range(9) |> map { x: i * 2 } |> where i > 3"
    right "pipeline p = range(9) |> with { x: i * 2 } |> where i > 3"

    "PC0104" HIDDEN_NAME "hidden-name"
    "A field that this definition does not write itself has the same name as a parameter, so that it is not clear \
     which is meant, and a new field in the data would silently change the program. `it.name` is always the field; \
     another name for the parameter makes the other meaning plain."
    wrong "param text = \"a\"\n    pipeline p = lines(\"x.txt\") |> where text == \"b\""
    right "param word = \"a\"\n    pipeline p = lines(\"x.txt\") |> where text == \"b\""

    "PC0105" IT_WITHOUT_RECORD "it-without-record"
    "`it` is the whole record, in the argument of `map`, `with`, `where`, `flat_map` and of parameters that are \
     evaluated for each record. Elsewhere there is none."

    "PC0106" NO_SUCH_FIELD "no-such-field"
    "A record has no field of this name, or a value has no fields. A tensor has `shape`."
    wrong "pipeline p = range(9) |> map { x: it.j }"
    right "pipeline p = range(9) |> map { x: it.i }"

    "PC0107" UNKNOWN_FUNCTION "unknown-function"
    "Nothing of this name can be called: no `fn` or `pipeline` of the file, and no entry of the library."
    wrong "pipeline p = range(9) |> shufle"
    right "pipeline p = range(9) |> shuffle"

    "PC0108" COMES_LATER "comes-later"
    "The name belongs to the language, but this version of pipec cannot run it yet. The message says what it will \
     do. The program can be checked and formatted; it runs with a later version."

    "PC0109" NOT_CALLED "not-called"
    "A `param`, a `const` or a `pipeline` without parentheses is a value or one stream, however often it is named: \
     it is named, not called."
    wrong "pipeline a = range(9)\n    pipeline p = a() |> batch(3)"
    right "pipeline a = range(9)\n    pipeline p = a |> batch(3)"

    "PC0110" RECURSION "recursion"
    "A definition leads back to itself. A program is a finite graph: there is no recursion."

    "PC0111" TOO_LARGE "too-large"
    "Definitions are expanded where they are called, and this program expands to more than the compiler takes on. \
     Calls may lead into each other 48 deep, and the whole may have 200,000 parts."

    "PC0112" UNKNOWN_TYPE "unknown-type"
    "A type is a dtype, such as `f32` or `str`, with its extents: `f32[n, 4]`, `u8[?, ?, 3]`."

    "PC0113" TOO_DEEP "too-deep"
    "What one step computes from a record leads through too many values, each found from the one before: 500 are the \
     most, so that no program can exhaust the stack. Divide the work among several steps: a field of the first is \
     what the second begins with."

    "PC0114" FOREIGN_TARGET "foreign-target"
    "`extern fn` says where a Python function is: `\"module:function\"`. One that is declared `pure` gives the same for \
     the same arguments, so what it gives may be kept, also for later runs; its version, `\"module:function@2\"`, is \
     raised when that changes. Any other is called again for each record, and cannot have a version; a `random` one \
     cannot be pure."
    wrong "extern fn f(x: f32) pure -> f32 = \"ours.numbers:f\"\n    pipeline p = range(9) |> map { x: f(f32(i)) }"
    right "extern fn f(x: f32) pure -> f32 = \"ours.numbers:f@1\"\n    pipeline p = range(9) |> map { x: f(f32(i)) }"

    "PC0121" MISSING_ARGUMENT "missing-argument"
    "A call lacks an argument for a parameter without a default."
    wrong "pipeline p = range(9) |> take"
    right "pipeline p = range(9) |> take(3)"

    "PC0122" NO_SUCH_PARAMETER "no-such-parameter"
    "A call names a parameter that there is not, or gives more arguments than there are parameters."
    wrong "pipeline p = range(9) |> take(3, 4)"
    right "pipeline p = range(9) |> take(3)"

    "PC0123" INPUT_TYPE "input-type"
    "A function is given a value of another type than it works on. The message shows both: what was found, with its \
     extents, and what the function asks for. Extents of the same name are equal within a call; `?` is any extent."
    wrong "pipeline p = range(9) |> map { x: flip_x(i) }"
    right "pipeline p = range(9) |> map { x: flip_x(plasma(i, 8, 8)) }"

    "PC0124" NOT_ONE_OF "not-one-of"
    "A parameter is one of some words, which are written bare: `tail: drop`."
    wrong "pipeline p = range(9) |> batch(4, tail: pad)"
    right "pipeline p = range(9) |> batch(4, tail: keep)"

    "PC0125" WANTED "wanted"
    "An argument is not what the parameter takes: a whole number, an interval, a list, or something that must be \
     known before the run."
    wrong "pipeline p = range(9) |> take(2.5)"
    right "pipeline p = range(9) |> take(2)"

    "PC0126" REFUSED "refused"
    "The entry of the library that is called refuses these arguments, and says why: an axis that is not there, sizes \
     that do not divide, fields that do not fit."
    wrong "pipeline p = range(9) |> batch(0)"
    right "pipeline p = range(9) |> batch(3)"

    "PC0127" VALUE_TOO_LARGE "value-too-large"
    "A value would take more memory than any may (1 GiB), or a batch or window more than any host has. The extents \
     are known, so it is found before anything runs."
    wrong "pipeline p = range(9) |> map { x: zeros([100_000, 100_000]) }"
    right "pipeline p = range(9) |> map { x: zeros([100, 100]) }"

    "PC0131" FUNCTION_ON_STREAM "function-on-stream"
    "Functions work on values, and what flows here is a stream of records. The argument of `map` ends at the next \
     `|>`, so a chain inside it stands in brackets."
    wrong "pipeline p = range(9) |> map plasma(i, 8, 8) |> flip_x"
    right "pipeline p = range(9) |> map { image: plasma(i, 8, 8) |> flip_x }"

    "PC0132" OPERATOR_ON_VALUE "operator-on-value"
    "Operators work on streams of records, and here is a single value."
    wrong "pipeline p = range(9) |> map { x: i |> shuffle }"
    right "pipeline p = range(9) |> shuffle |> map { x: i }"

    "PC0133" NO_RECORD "no-record"
    "A stream carries records with named fields, so `map` and `with` give a record: `{ name: value }`."
    wrong "pipeline p = range(9) |> map i * 2"
    right "pipeline p = range(9) |> map { i: i * 2 }"

    "PC0134" NOT_A_STREAM "not-a-stream"
    "A pipeline, or the input of an operator, must be a stream: a source, a pipeline, or what an operator gives."
    wrong "pipeline p = 3"
    right "pipeline p = range(3)"

    "PC0135" SOURCE_ON_STREAM "source-on-stream"
    "A source makes records and reads none, so nothing can stand left of it."
    wrong "pipeline p = range(9) |> range(3)"
    right "pipeline p = range(3)"

    "PC0136" INPUT_UNREADABLE "input-unreadable"
    "Something had to be known of a source's files before the program could be checked, such as the header of a CSV, \
     and it could not be read."

    "PC0138" OBJECT_STORE "object-store"
    "The files of a source are named by `s3://`, `gs://`, `az://`, `https://`, `hf://` or the like: they lie in an object \
     store, or on another machine, which no source can read yet. Copy them to a local folder first, or mount the store \
     as one."
    wrong "pipeline p = lines(\"s3://bucket/texts/*.txt\")"
    right "pipeline p = lines(\"texts/*.txt\")"

    "PC0137" EACH_SCALAR "each-scalar"
    "An argument that is evaluated for each record (`by:`, `weight:`) must be one number or truth value."
    wrong "pipeline p = range(9) |> map { x: [i, i] } |> batch(3, by: x)"
    right "pipeline p = range(9) |> map { x: [i, i] } |> batch(3, by: x[0])"

    "PC0141" CONDITION "condition"
    "Where a truth value is wanted, the value has another type. Numbers are no truth values: compare them."
    wrong "pipeline p = range(9) |> where i % 2"
    right "pipeline p = range(9) |> where i % 2 == 1"

    "PC0142" ARITHMETIC "arithmetic"
    "Two values cannot be reckoned with each other: one is text, a record, a stream, or their dtypes have nothing \
     in common."
    wrong "pipeline p = range(9) |> map { x: i + \"a\" }"
    right "pipeline p = range(9) |> map { x: i + 1 }"

    "PC0143" SMALL_ARITHMETIC "small-arithmetic"
    "Integers of 8 and 16 bits do no arithmetic, because it would wrap around at 255 or 65,535 without a word. Say \
     in what it shall be done: `f32(x)` or `i32(x)`."
    wrong "pipeline p = range(9) |> map { x: plasma(i, 8, 8) * 2 }"
    right "pipeline p = range(9) |> map { x: f32(plasma(i, 8, 8)) * 2 }"

    "PC0144" FRACTION "fraction"
    "A literal takes the type of what it meets, and a fraction cannot be a whole number. Make the value a float \
     first."
    wrong "pipeline p = range(9) |> map { x: i * 0.5 }"
    right "pipeline p = range(9) |> map { x: f32(i) * 0.5 }"

    "PC0145" UNITS "units"
    "Quantities of different units are added or compared: seconds with hertz, bytes with a bare number. Seconds \
     times hertz is a number."
    wrong "const SPAN = 10s + 16kHz"
    right "const SPAN = 10s * 16kHz"

    "PC0146" RECKONING "reckoning"
    "A constant cannot be reckoned: it divides by zero, or is larger than 64 bits hold."
    wrong "const HALF = 1 / 0"
    right "const HALF = 1 / 2"

    "PC0147" EXTENTS "extents"
    "Tensors are combined whose extents do not go together. As in NumPy, extents are compared from the last axis; \
     two go together if they are equal or one of them is 1."
    wrong "pipeline p = range(9) |> map { x: f32(plasma(i, 8, 8)) + [1.0, 2.0] }"
    right "pipeline p = range(9) |> map { x: f32(plasma(i, 8, 8)) + [1.0, 2.0, 3.0] }"

    "PC0148" BRANCHES "branches"
    "Both branches of an `if`, both sides of an `else`, and all elements of a list give values of the same type, or \
     records with the same fields."
    wrong "pipeline p = range(9) |> map { x: if i > 3 then i else \"a\" }"
    right "pipeline p = range(9) |> map { x: if i > 3 then i else 0 }"

    "PC0149" INTERVAL "interval"
    "An interval `a..b` has both its ends, which are numbers, the lower one first."
    wrong "pipeline p = range(9) |> where i in 5..3"
    right "pipeline p = range(9) |> where i in 3..5"

    "PC0151" NOT_A_LIST "not-a-list"
    "A list is wanted: `[a, b]`, `[e for x in xs]`, or a tensor with at least one axis. A list has at least one \
     element and, written out, at most 4096."

    "PC0152" INDEX "index"
    "An index does not fit what it is taken from: outside of a list, more places than axes, or of something that \
     has no elements."
    wrong "pipeline p = range(9) |> map { x: [i, i][2] }"
    right "pipeline p = range(9) |> map { x: [i, i][1] }"

    "PC0153" AS "as"
    "`as` says what untyped data are. A value that has a type already is changed by a cast: `f32(x)`."
    wrong "pipeline p = range(9) |> map { x: i as f32 }"
    right "pipeline p = range(9) |> map { x: f32(i) }"

    "PC0154" NOT_A_VALUE "not-a-value"
    "A record field, an operand or an argument must be a value; here is an interval, a record or a stream."
    wrong "pipeline p = range(9) |> map { x: 1..2 }"
    right "pipeline p = range(9) |> map { x: [1, 2] }"

    "PC0155" POLICY "policy"
    "What is done with bad records takes one argument, the share of records that may be lost: \
     `skip(most: 1e-3)`."

    "PC0156" TEXTS_OF_BATCH "texts-of-batch"
    "`batch` makes a column of texts (`str[n]`, `bytes[n]`) of a field that is text. A batch carries it to whoever \
     takes the batch, and steps behind `batch` may keep it, rename it or leave it out, but nothing computes on it. \
     What depends on a text is computed before `batch`."
    wrong "pipeline p = range(9) |> map { name: text_of(i) } |> batch(3) |> map { name, key: hash(name) }"
    right "pipeline p = range(9) |> map { name: text_of(i) } |> with { key: hash(name) } |> batch(3)"

    "PC0161" PARAM_UNSET "param-unset"
    "A `param` without a default must be set before the program can run: `--set name=value`."

    "PC0162" PARAM_VALUE "param-value"
    "A value given with `--set` is not of the kind that the `param` is, or the file has no `param` of that name."

    "PC0163" NOT_KNOWN "not-known"
    "A `const` and the default of a `param` are known before the run: numbers, text, truth values, lists of those."
    wrong "const N = range(9)"
    right "const N = 9"

    "PC0164" WHICH_PIPELINE "which-pipeline"
    "The file has several pipelines that no other uses, or none, or none of the name that was asked for. A pipeline \
     is run by its name: `pipec run F.pipe NAME`."

    "PC0199" LIBRARY "library"
    "The library lacks something that the compiler builds on. This is a mistake in pipec: please report it with \
     the program."
}
