//! The codes of the checker, and the explanation of each.

codes! {
    "PC0101" DECLARED_TWICE "declared-twice"
    "Two declarations in one file have the same name, or a record, a call or a signature repeats a name. Functions \
     (`fn`, `pipeline` with parameters) and values have separate namespaces, so one of each may share a name."
    wrong "const SIZE = 3\n    const SIZE = 4"
    right "const SIZE = 3\n    const LARGE = 4"

    "PC0102" NOT_DECLARED_THERE "not-declared-there"
    "`use` imports a name that the other file does not declare. Names that the other file itself imports are not \
     re-exported."

    "PC0103" UNKNOWN_NAME "unknown-name"
    "A name cannot be found in this scope. Names are looked up as fields of the current record, then as parameters of \
     the definition, then as declarations of the file. After `map`, a record has only the fields that `map` lists."
    wrong "pipeline p = range(9) |> map { x: i * 2 } |> where i > 3"
    right "pipeline p = range(9) |> with { x: i * 2 } |> where i > 3"

    "PC0104" HIDDEN_NAME "hidden-name"
    "A field that this definition does not write itself has the same name as a parameter. The name is ambiguous, and a \
     new field in the data would silently change the program. `it.name` is always the field; rename the parameter to \
     refer to that instead."
    wrong "param text = \"a\"\n    pipeline p = lines(\"x.txt\") |> where text == \"b\""
    right "param word = \"a\"\n    pipeline p = lines(\"x.txt\") |> where text == \"b\""

    "PC0105" IT_WITHOUT_RECORD "it-without-record"
    "`it` is the whole record inside the argument of `map`, `with`, `where`, `flat_map` and of parameters that are \
     evaluated per record. It has no meaning elsewhere."

    "PC0106" NO_SUCH_FIELD "no-such-field"
    "A record has no field of this name, or a value has no fields. A tensor has `shape`."
    wrong "pipeline p = range(9) |> map { x: it.j }"
    right "pipeline p = range(9) |> map { x: it.i }"

    "PC0107" UNKNOWN_FUNCTION "unknown-function"
    "Neither the file (`fn`, `pipeline`) nor the library has a function of this name."
    wrong "pipeline p = range(9) |> shufle"
    right "pipeline p = range(9) |> shuffle"

    "PC0108" COMES_LATER "comes-later"
    "The name is part of the language, but this version of pipec does not support it yet. The message says what it \
     will do. The program can already be checked and formatted."

    "PC0109" NOT_CALLED "not-called"
    "A `param`, a `const` or a `pipeline` without parameters is a value or a stream, not a function. Write its name \
     without parentheses."
    wrong "pipeline a = range(9)\n    pipeline p = a() |> batch(3)"
    right "pipeline a = range(9)\n    pipeline p = a |> batch(3)"

    "PC0110" RECURSION "recursion"
    "A definition calls itself, directly or through others. A program is a finite graph, so recursion is not supported."

    "PC0111" TOO_LARGE "too-large"
    "Definitions are inlined where they are called, and this program becomes too large. Calls may be nested 48 deep, \
     and the expanded program may have 200,000 parts."

    "PC0112" UNKNOWN_TYPE "unknown-type"
    "A type is a dtype, such as `f32` or `str`, with extents: `f32[n, 4]`, `u8[?, ?, 3]`."

    "PC0113" TOO_DEEP "too-deep"
    "One step computes a chain of more than 500 values, each from the previous one. The limit keeps programs from \
     exhausting the stack. Split the work into several steps, and pass the intermediate value on as a field."

    "PC0114" FOREIGN_TARGET "foreign-target"
    "`extern fn` names a Python function as `\"module:function\"`. A function declared `pure` returns the same result for \
     the same arguments, so its results may be cached, even for later runs; raise its version, as in \
     `\"module:function@2\"`, when the results change. Any other function is called for each record and cannot have a \
     version. A `random` function cannot be pure. `extern pipeline` names a class or function that returns a source, which \
     has no version."
    wrong "extern fn f(x: f32) pure -> f32 = \"ours.numbers:f\"\n    pipeline p = range(9) |> map { x: f(f32(i)) }"
    right "extern fn f(x: f32) pure -> f32 = \"ours.numbers:f@1\"\n    pipeline p = range(9) |> map { x: f(f32(i)) }"

    "PC0121" MISSING_ARGUMENT "missing-argument"
    "A call has no argument for a parameter without a default."
    wrong "pipeline p = range(9) |> take"
    right "pipeline p = range(9) |> take(3)"

    "PC0122" NO_SUCH_PARAMETER "no-such-parameter"
    "A call names an unknown parameter, or has more arguments than there are parameters."
    wrong "pipeline p = range(9) |> take(3, 4)"
    right "pipeline p = range(9) |> take(3)"

    "PC0123" INPUT_TYPE "input-type"
    "A function got a value of the wrong type. The message shows the type that was found, with its extents, and the \
     type that is expected. Extents with the same name are equal within a call; `?` is any extent."
    wrong "pipeline p = range(9) |> map { x: flip_x(i) }"
    right "pipeline p = range(9) |> map { x: flip_x(plasma(i, 8, 8)) }"

    "PC0124" NOT_ONE_OF "not-one-of"
    "The parameter takes one of a few keywords, written without quotes: `tail: drop`."
    wrong "pipeline p = range(9) |> batch(4, tail: pad)"
    right "pipeline p = range(9) |> batch(4, tail: keep)"

    "PC0125" WANTED "wanted"
    "An argument is of the wrong kind: the parameter takes an integer, an interval, a list, or something that must be \
     known at compile time."
    wrong "pipeline p = range(9) |> take(2.5)"
    right "pipeline p = range(9) |> take(2)"

    "PC0126" REFUSED "refused"
    "The function or operator does not accept these arguments; the message says why: an axis that does not exist, sizes \
     that do not divide, fields that do not match."
    wrong "pipeline p = range(9) |> batch(0)"
    right "pipeline p = range(9) |> batch(3)"

    "PC0127" VALUE_TOO_LARGE "value-too-large"
    "A value would take more than the limit of 1 GiB, or a batch or window more memory than any host has. The extents \
     are known, so this is found before anything runs."
    wrong "pipeline p = range(9) |> map { x: zeros([100_000, 100_000]) }"
    right "pipeline p = range(9) |> map { x: zeros([100, 100]) }"

    "PC0131" FUNCTION_ON_STREAM "function-on-stream"
    "Functions take values, and this is a stream of records. The argument of `map` ends at the next `|>`, so a chain \
     inside it goes in braces."
    wrong "pipeline p = range(9) |> map plasma(i, 8, 8) |> flip_x"
    right "pipeline p = range(9) |> map { image: plasma(i, 8, 8) |> flip_x }"

    "PC0132" OPERATOR_ON_VALUE "operator-on-value"
    "Operators take streams of records, and this is a single value."
    wrong "pipeline p = range(9) |> map { x: i |> shuffle }"
    right "pipeline p = range(9) |> shuffle |> map { x: i }"

    "PC0133" NO_RECORD "no-record"
    "A stream consists of records with named fields, so `map` and `with` need a record: `{ name: value }`."
    wrong "pipeline p = range(9) |> map i * 2"
    right "pipeline p = range(9) |> map { i: i * 2 }"

    "PC0134" NOT_A_STREAM "not-a-stream"
    "A pipeline, or the input of an operator, must be a stream: a source, a pipeline, or the result of an operator."
    wrong "pipeline p = 3"
    right "pipeline p = range(3)"

    "PC0135" SOURCE_ON_STREAM "source-on-stream"
    "A source produces records and has no input stream, so nothing can be piped into it."
    wrong "pipeline p = range(9) |> range(3)"
    right "pipeline p = range(3)"

    "PC0136" INPUT_UNREADABLE "input-unreadable"
    "Checking the program requires information from a source's files, such as the header of a CSV, or the contents of \
     a file that an argument names, and they could not be read."

    "PC0138" OBJECT_STORE "object-store"
    "The pattern names files of a store or a machine that no source can read. What can be read are local files, \
     `s3://`, `gs://`, `az://` (also `abfs://` and `abfss://`), and files of web servers, `https://`. Copy files that lie \
     elsewhere to a local folder first, or mount what they lie on."
    wrong "pipeline p = lines(\"s3a://bucket/texts/*.txt\")"
    right "pipeline p = lines(\"texts/*.txt\")"

    "PC0137" EACH_SCALAR "each-scalar"
    "An argument that is evaluated per record (`by:`, `weight:`) must be a single number or boolean."
    wrong "pipeline p = range(9) |> map { x: [i, i] } |> batch(3, by: x)"
    right "pipeline p = range(9) |> map { x: [i, i] } |> batch(3, by: x[0])"

    "PC0141" CONDITION "condition"
    "A boolean is expected, and the value has another type. Numbers are not converted to booleans: compare them."
    wrong "pipeline p = range(9) |> where i % 2"
    right "pipeline p = range(9) |> where i % 2 == 1"

    "PC0142" ARITHMETIC "arithmetic"
    "The operation is not defined for these two values: one is text, a record or a stream, or their dtypes cannot be \
     combined."
    wrong "pipeline p = range(9) |> map { x: i + \"a\" }"
    right "pipeline p = range(9) |> map { x: i + 1 }"

    "PC0143" SMALL_ARITHMETIC "small-arithmetic"
    "There is no arithmetic on 8- and 16-bit integers, because it would silently wrap around at 255 or 65,535. Convert \
     first: `f32(x)` or `i32(x)`."
    wrong "pipeline p = range(9) |> map { x: plasma(i, 8, 8) * 2 }"
    right "pipeline p = range(9) |> map { x: f32(plasma(i, 8, 8)) * 2 }"

    "PC0144" FRACTION "fraction"
    "A literal takes the type of the value that it is combined with, and a fraction cannot be an integer. Convert the \
     value to a float first."
    wrong "pipeline p = range(9) |> map { x: i * 0.5 }"
    right "pipeline p = range(9) |> map { x: f32(i) * 0.5 }"

    "PC0145" UNITS "units"
    "Quantities of different units are added or compared: seconds with hertz, bytes with a bare number. Seconds \
     times hertz is a number."
    wrong "const SPAN = 10s + 16kHz"
    right "const SPAN = 10s * 16kHz"

    "PC0146" CONSTANT "constant"
    "A constant cannot be evaluated: it divides by zero, or does not fit in 64 bits."
    wrong "const HALF = 1 / 0"
    right "const HALF = 1 / 2"

    "PC0147" EXTENTS "extents"
    "The shapes of these tensors cannot be broadcast. As in NumPy, extents are compared from the last axis, and two are \
     compatible if they are equal or one of them is 1."
    wrong "pipeline p = range(9) |> map { x: f32(plasma(i, 8, 8)) + [1.0, 2.0] }"
    right "pipeline p = range(9) |> map { x: f32(plasma(i, 8, 8)) + [1.0, 2.0, 3.0] }"

    "PC0148" BRANCHES "branches"
    "Both branches of an `if`, both sides of an `else`, and all elements of a list must have the same type, or be \
     records with the same fields."
    wrong "pipeline p = range(9) |> map { x: if i > 3 then i else \"a\" }"
    right "pipeline p = range(9) |> map { x: if i > 3 then i else 0 }"

    "PC0149" INTERVAL "interval"
    "An interval `a..b` needs two numbers, the lower bound first."
    wrong "pipeline p = range(9) |> where i in 5..3"
    right "pipeline p = range(9) |> where i in 3..5"

    "PC0151" NOT_A_LIST "not-a-list"
    "A list is expected: `[a, b]`, `[e for x in xs]`, or a tensor with at least one axis. A list has at least one \
     element and at most 4,096 when it is written out."

    "PC0152" INDEX "index"
    "An index does not fit the value: it is out of range, has more indices than the value has axes, or the value cannot \
     be indexed."
    wrong "pipeline p = range(9) |> map { x: [i, i][2] }"
    right "pipeline p = range(9) |> map { x: [i, i][1] }"

    "PC0153" AS "as"
    "`as` gives a type to untyped data. To convert a value that already has a type, use a cast: `f32(x)`."
    wrong "pipeline p = range(9) |> map { x: i as f32 }"
    right "pipeline p = range(9) |> map { x: f32(i) }"

    "PC0154" NOT_A_VALUE "not-a-value"
    "A field, an operand or an argument must be a value, not an interval, a record or a stream."
    wrong "pipeline p = range(9) |> map { x: 1..2 }"
    right "pipeline p = range(9) |> map { x: [1, 2] }"

    "PC0155" POLICY "policy"
    "A policy for failed records takes one argument, the fraction of records that may fail: `skip(most: 1e-3)`."

    "PC0156" TEXTS_OF_BATCH "texts-of-batch"
    "`batch` turns a string field into a column of strings (`str[n]`, `bytes[n]`). Steps after `batch` may keep, rename \
     or drop it, but cannot use it in expressions. Compute what depends on a string before `batch`."
    wrong "pipeline p = range(9) |> map { name: text_of(i) } |> batch(3) |> map { name, key: hash(name) }"
    right "pipeline p = range(9) |> map { name: text_of(i) } |> with { key: hash(name) } |> batch(3)"

    "PC0161" PARAM_UNSET "param-unset"
    "A `param` without a default must be set before the program can run: `--set name=value`."

    "PC0162" PARAM_VALUE "param-value"
    "A value given with `--set` has the wrong kind, or the program has no `param` of that name."

    "PC0163" NOT_KNOWN "not-known"
    "A `const` and the default of a `param` are known at compile time: numbers, text, booleans, and lists of those. A \
     `const` may also be computed from a stream before the run, by `moments` or `count`."
    wrong "const N = range(9)"
    right "const N = 9"

    "PC0164" WHICH_PIPELINE "which-pipeline"
    "The program has several pipelines that no other uses, or none, or none with the given name. Name the pipeline to \
     run: `pipec run F.pipe NAME`."

    "PC0165" CONST_STREAM "const-stream"
    "The stream that a constant is computed from must have an end, and the same records in every run: no shuffle, no \
     random functions, no `epoch`, no `else another`."
    wrong "const SEEN = range(9) |> map { x: f32(i) * uniform(0.0, 1.0) } |> moments(of: x)\n    pipeline p = range(9) |> map { x: f32(i) - SEEN.mean }"
    right "const SEEN = range(9) |> map { x: f32(i) } |> moments(of: x)\n    pipeline p = range(9) |> map { x: f32(i) - SEEN.mean }"

    "PC0199" LIBRARY "library"
    "The library lacks something that the compiler needs. This is a bug in pipec: please report it with the program."
}
