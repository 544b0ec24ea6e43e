//! Random expressions: calls of the library's functions, by their signatures, and the language's
//! own forms.

use crate::random::{
    callee::{Callee, Class, Kind, Parameter},
    dice::Dice,
};
use plan::{DType, Extent, Field, Type};

/// Writes expressions over the fields of a record.
pub(crate) struct Values<'a> {
    pub(crate) dice: &'a mut Dice,
    pub(crate) library: &'a [Callee],
    /// Those of them that are called more often.
    pub(crate) favourites: [&'a Callee; 2],
    pub(crate) fields: &'a [Field],
}

/// An expression, and whether it may fail.
pub(crate) struct Value {
    pub(crate) text: String,
    pub(crate) fails: bool,
    /// What can stand for it when it fails, where that is easily said.
    pub(crate) instead: Option<&'static str>,
}

/// Dtypes that arithmetic is done in.
const NUMBERS: [DType; 4] = [DType::I64, DType::F32, DType::F64, DType::I32];

/// Literals of paths and texts.
const TEXTS: [&str; 8] =
    ["'cat/7.jpg'", "'12'", "'-3.5e1'", "''", "' Grüße '", "'mit'", "'a/b/cat.png'", "'[1, 2'"];

impl Values<'_> {
    /// An expression of some type; the checker says which.
    pub(crate) fn any(&mut self) -> Value {
        if self.dice.percent(25) { self.form() } else { self.call() }
    }

    /// A condition.
    pub(crate) fn condition(&mut self) -> String {
        let x = self.base();
        match self.dice.below(6) {
            0 => format!("{x} % {} != 0", self.dice.within(2, 5)),
            1 => format!("hash({x}) % 4 < 3"),
            2 => "coin(0.7)".to_owned(),
            3 => format!("({x} in 2..30) or not ({x} < 3)"),
            4 => {
                let condition = self.atom((DType::Bool, 0));
                format!("{condition} or {x} % 2 == 0")
            }
            _ => format!("{x} > {}", self.dice.within(-1, 4)),
        }
    }

    /// A whole number that is known for each record, small or not.
    pub(crate) fn base(&mut self) -> String {
        match self.field((DType::I64, 0)) {
            Some(name) => name,
            None => self.dice.within(0, 9).to_string(),
        }
    }

    /// A call of a function.
    fn call(&mut self) -> Value {
        let library = self.library;
        let often = self.dice.percent(60);
        let callee = if often { self.dice.pick(&self.favourites) } else { self.dice.pick(library) };
        match callee.name.as_str() {
            "as_type" => return self.typed(),
            "class_of" => {
                let path = self.of_name("path").unwrap_or("'a/1.jpg'".to_owned());
                return Value {
                    text: format!("class_of({path})"),
                    fails: true,
                    instead: Some("-1"),
                };
            }
            "index_of" => return self.index_of(),
            "lookup" => return self.lookup(),
            "select" => return self.select(),
            // Not for long.
            "busy" => {
                let value = self.atom((DType::I64, 0));
                let text = format!("busy({value}, time: 0.00001)");
                return Value { text, fails: true, instead: None };
            }
            "reshape" => return self.reshape(),
            "transpose" => return self.transpose(),
            "bucketize" => {
                let class = *self.dice.pick(&callee.takes);
                let text = format!("bucketize({}, [1, 2.5, 4, 9])", self.atom(class));
                return Value { text, fails: false, instead: None };
            }
            "parse_table" | "decompress" | "decode_text" | "decode_npy" | "read_npy" => {
                return self.member(&callee.name);
            }
            _ => {}
        }
        let class = match callee.takes.as_slice() {
            [] => (DType::I64, 0),
            some => *self.dice.pick(some),
        };
        let mut args = Vec::new();
        let mut named = false;
        for parameter in &callee.parameters {
            if parameter.optional && self.dice.percent(60) {
                named = true;
                continue;
            }
            let value = self.argument(parameter, class);
            let named = named || (!args.is_empty() && self.dice.percent(25));
            args.push(if named { format!("{}: {value}", parameter.name) } else { value });
            // What stands behind a name must be named too.
            if named {
                args.extend(self.rest(callee, parameter, class));
                break;
            }
        }
        let text = self.written(&callee.name, args);
        Value { text, fails: callee.fails, instead: None }
    }

    /// The number of a text or of a whole number in a list that may lack it.
    fn index_of(&mut self) -> Value {
        let text = if self.dice.percent(50) {
            format!("index_of({}, [2, 1, 0, 5, 3])", self.base())
        } else {
            format!("index_of({}, ['12', 'mit', ''])", self.atom((DType::Str, 0)))
        };
        Value { text, fails: true, instead: Some("-1") }
    }

    /// The number of a text or of a whole number in a file that may lack it.
    fn lookup(&mut self) -> Value {
        let key = match self.dice.percent(50) {
            true => self.base(),
            false => self.atom((DType::Str, 0)),
        };
        let unknown = match self.dice.below(3) {
            0 => String::new(),
            1 => format!(", unknown: {}", self.dice.within(-2, 9)),
            _ => format!(", unknown: {}", self.base()),
        };
        let text = format!("lookup({key}, \"{{data}}/keys.txt\"{unknown})");
        Value { text, fails: true, instead: Some("-1") }
    }

    /// The elements of a row that are larger than a number.
    fn select(&mut self) -> Value {
        let dtype = *self.dice.pick(&[DType::I64, DType::F32, DType::U8]);
        let row = self.field((dtype, 1)).unwrap_or_else(|| "arange(5)".to_owned());
        let (n, own) = (self.dice.within(0, 4), self.dice.percent(50));
        let text = match own {
            true => format!("{row}[{row} > {n}]"),
            false => format!("select({row}, keep: {row} > {n})"),
        };
        Value { text, fails: true, instead: None }
    }

    /// The arguments behind the first one with a name.
    fn rest(&mut self, callee: &Callee, after: &Parameter, class: Class) -> Vec<String> {
        let behind = callee.parameters.iter().skip_while(|it| it.name != after.name).skip(1);
        let chosen: Vec<&Parameter> =
            behind.filter(|it| !it.optional || self.dice.percent(40)).collect();
        let value = |it: &Parameter| format!("{}: {}", it.name, self.argument(it, class));
        chosen.into_iter().map(value).collect()
    }

    /// A call in one of its two forms.
    fn written(&mut self, name: &str, mut args: Vec<String>) -> String {
        if args.is_empty() || self.dice.percent(60) || args[0].contains(": ") {
            return format!("{name}({})", args.join(", "));
        }
        let first = args.remove(0);
        if args.is_empty() {
            return format!("({first} |> {name})");
        }
        format!("({first} |> {name}({}))", args.join(", "))
    }

    fn argument(&mut self, parameter: &Parameter, class: Class) -> String {
        match &parameter.kind {
            Kind::Any => self.atom(class),
            Kind::Int => self.int(&parameter.name, class),
            Kind::Float => self.float(),
            Kind::Bool => (*self.dice.pick(&["true", "false"])).to_owned(),
            Kind::Text => self.atom((DType::Str, 0)),
            Kind::Bytes => self.atom((DType::Bytes, 0)),
            Kind::Untyped => self.untyped(),
            Kind::Numbers => self.numbers(&parameter.name, class),
            Kind::Values => format!("[{}, {}]", self.atom(class), self.atom(class)),
            Kind::Interval => {
                let (low, high) = (self.dice.within(1, 9), self.dice.within(10, 14));
                format!("0.{low}..{}.{}", high / 10, high % 10)
            }
            Kind::Words(words) => self.dice.pick(words).clone(),
            Kind::Tensor(dtype, extents) => self.tensor(*dtype, extents),
            Kind::Special => "f32".to_owned(),
        }
    }

    /// A whole number that suits a parameter of this name.
    fn int(&mut self, name: &str, class: Class) -> String {
        let (low, high) = match name {
            "height" | "width" | "size" => (1, 9),
            "axis" => {
                let rank = class.1.max(1) as i64;
                (-rank, rank - 1)
            }
            "channels" => return self.dice.pick(&["1", "3", "3", "3"]).to_string(),
            "depth" => return self.dice.pick(&["8", "16"]).to_string(),
            "kernel_size" => return self.dice.pick(&["1", "3", "5"]).to_string(),
            "quality" => (1, 100),
            "most" => (8, 20),
            "classes" => (2, 12),
            "from" | "to" | "i" => (-3, 4),
            "low" => (-5, 2),
            "high" => (3, 9),
            "n" => (1, 6),
            _ => (0, 4),
        };
        let fixed = ["axis", "classes", "n"].contains(&name);
        if !fixed && self.dice.percent(20) && self.field((DType::I64, 0)).is_some() {
            return format!("({} % {} + {low})", self.base(), high - low + 1);
        }
        self.dice.within(low, high).to_string()
    }

    fn float(&mut self) -> String {
        match (self.dice.below(4), self.field((DType::F32, 0))) {
            (0, Some(name)) => name,
            _ => format!("{}.{}", self.dice.below(2), self.dice.within(1, 9)),
        }
    }

    /// Numbers that are known before the run: extents, means, an order.
    fn numbers(&mut self, name: &str, class: Class) -> String {
        match name {
            "mean" if class == (DType::U8, 3) => "[0.5, 0.4, 0.3]".to_owned(),
            "mean" | "std" => "0.25".to_owned(),
            _ => {
                let n = self.dice.within(1, 3);
                let all: Vec<String> = (0..n).map(|_| self.dice.within(1, 4).to_string()).collect();
                format!("[{}]", all.join(", "))
            }
        }
    }

    fn tensor(&mut self, dtype: Option<DType>, extents: &[Option<u64>]) -> String {
        let dtype =
            dtype.unwrap_or(*self.dice.pick(&[DType::U8, DType::U8, DType::I64, DType::F32]));
        let fitting: Vec<String> = self
            .fields
            .iter()
            .filter(|it| it.ty.dtype() == Some(dtype) && fits(&it.ty, extents))
            .map(|it| it.name.clone())
            .collect();
        if !fitting.is_empty() && self.dice.percent(75) {
            return self.dice.pick(&fitting).clone();
        }
        if extents.len() == 3 {
            return self.atom((dtype, 3));
        }
        let one = |it: &Option<u64>| it.unwrap_or(3).to_string();
        let shape: Vec<String> = extents.iter().map(one).collect();
        format!("{dtype}(full([{}], 1))", shape.join(", "))
    }

    /// A field of a class, if there is one.
    fn field(&mut self, class: Class) -> Option<String> {
        let of_class = |it: &&Field| {
            let rank = it.ty.shape().map(<[Extent]>::len);
            !it.ty.is_untyped() && (it.ty.dtype(), rank) == (Some(class.0), Some(class.1))
        };
        let found: Vec<&Field> = self.fields.iter().filter(of_class).collect();
        if found.is_empty() { None } else { Some(self.dice.pick(&found).name.clone()) }
    }

    fn of_name(&self, name: &str) -> Option<String> {
        self.fields.iter().find(|it| it.name == name).map(|it| it.name.clone())
    }

    /// A value of a class: a field, or something new.
    pub(crate) fn atom(&mut self, class: Class) -> String {
        if self.dice.percent(75)
            && let Some(name) = self.field(class)
        {
            return name;
        }
        let x = self.base();
        let (dtype, rank) = class;
        match (dtype, rank) {
            (DType::Bool, 0) => format!("({x} % {} == 1)", self.dice.within(2, 4)),
            (DType::I64, 0) => format!("({x} + {})", self.dice.within(-2, 4)),
            (DType::Str, _) => self.text(&x),
            (DType::Bytes, _) => self.encoded(&x),
            (DType::U8, 3) => self.picture(&x),
            (DType::Bool, _) => format!("({} > {x} % 7)", self.whole(rank)),
            (_, 0) => format!("{dtype}({x} % 9)"),
            _ => format!("{dtype}({} + {x} % 5)", self.whole(rank)),
        }
    }

    /// A tensor of whole numbers.
    fn whole(&mut self, rank: usize) -> String {
        let ragged = self.dice.percent(15) && self.field((DType::I64, 0)).is_some();
        match rank {
            1 if ragged && self.dice.percent(40) => {
                format!("concat([arange(k) for k in 1..1 + {} % 3])", self.base())
            }
            1 if ragged => format!("arange(1 + {} % 4)", self.base()),
            1 => format!("arange({})", self.dice.within(1, 5)),
            2 => "reshape(arange(6), [2, 3])".to_owned(),
            3 => "i64(plasma(2, 4, 5))".to_owned(),
            _ => format!("full([{}2], 3)", "1, ".repeat(rank.saturating_sub(1))),
        }
    }

    fn picture(&mut self, x: &str) -> String {
        let (height, width) = (self.dice.within(4, 9), self.dice.within(4, 9));
        let picture = format!("plasma({x}, {height}, {width})");
        if self.dice.percent(15) {
            format!("{picture}[1:, :{} + {x} % 2]", width - 2)
        } else {
            picture
        }
    }

    fn encoded(&mut self, x: &str) -> String {
        let codec = *self.dice.pick(&["png", "jpeg", "webp", "jpeg"]);
        format!("encode_{codec}(plasma({x}, {}, 8))", self.dice.within(6, 9))
    }

    fn text(&mut self, x: &str) -> String {
        match self.dice.below(4) {
            0 => format!("text_of({x})"),
            1 => format!("text_concat(['n', text_of({x})])"),
            _ => (*self.dice.pick(&TEXTS)).to_owned(),
        }
    }

    fn untyped(&mut self) -> String {
        let rows: Vec<String> =
            self.fields.iter().filter(|it| it.ty.is_untyped()).map(|it| it.name.clone()).collect();
        if !rows.is_empty() && self.dice.percent(70) {
            let row = self.dice.pick(&rows).clone();
            return match self.dice.below(6) {
                0 | 1 => row,
                2 => format!("{row}[\"o\"][\"n\"]"),
                _ => format!("{row}[\"{}\"]", self.dice.pick(&["n", "xs", "text"])),
            };
        }
        let json = *self.dice.pick(&["[1, 2, 3]", "{\"n\": 4, \"xs\": [1.5]}", "7", "[[1], [2]]"]);
        format!("parse_json('{json}')")
    }

    /// What a function makes of a file, sound or not, or of what a record has.
    fn member(&mut self, function: &str) -> Value {
        let file = |name: &str| format!("read_file(\"{{data}}/members/{name}\")");
        let (text, instead) = match function {
            "parse_table" => {
                let (a, b) = (self.base(), self.atom((DType::Str, 0)));
                let rows = [
                    format!("text_concat([text_of({a}), ' 2.5'])"),
                    format!("text_concat([{b}, ' 1'])"),
                    "read_text(\"{data}/members/table.txt\")".to_owned(),
                ];
                let rows = self.dice.pick(&rows).clone();
                (format!("parse_table({rows}, columns: 2)"), Some("full([0, 2], f32(0))"))
            }
            "decompress" => {
                let name = *self.dice.pick(&["words.gz", "words.xz", "words.zst", "torn.bz2"]);
                (format!("decompress({})", file(name)), None)
            }
            "decode_text" => {
                let encoding = *self.dice.pick(&["", ", encoding: \"latin1\"", ", \"utf-16le\""]);
                let bytes = [file("latin.txt"), file("table.txt"), self.atom((DType::Bytes, 0))];
                (format!("decode_text({}{encoding})", self.dice.pick(&bytes)), Some("'none'"))
            }
            _ => {
                let name = *self.dice.pick(&["a.npy", "a.npy", "fortran.npy", "table.txt"]);
                let array = match function {
                    "read_npy" => format!("read_npy(\"{{data}}/members/{name}\")"),
                    _ => format!("decode_npy({})", file(name)),
                };
                let to = *self.dice.pick(&["i16[n, 3]", "i64[2, 3]", "i32[?, ?]"]);
                (format!("({array} as {to})"), None)
            }
        };
        Value { text, fails: true, instead }
    }

    /// What `as` makes of untyped data.
    fn typed(&mut self) -> Value {
        let (to, instead) = *self.dice.pick(&[
            ("i64", Some("0")),
            ("f32", Some("0.5")),
            ("str", Some("'none'")),
            ("f32[k]", None),
            ("i64[2]", None),
            ("f32[?, 1]", None),
        ]);
        let untyped = self.untyped();
        Value { text: format!("({untyped} as {to})"), fails: true, instead }
    }

    fn reshape(&mut self) -> Value {
        let rank = self.dice.below(4);
        let x = self.atom((DType::F32, rank));
        let shape = *self.dice.pick(&["[-1]", "[1, -1]", "[-1, 1, 1]", "[-1, 2]"]);
        Value { text: format!("reshape({x}, {shape})"), fails: true, instead: None }
    }

    fn transpose(&mut self) -> Value {
        let (rank, orders) =
            *self.dice.pick(&[(3, ["[2, 0, 1]", "[1, 0, 2]"]), (2, ["[1, 0]", "[0, 1]"])]);
        let class = (if rank == 3 { DType::U8 } else { DType::F32 }, rank);
        let (x, order) = (self.atom(class), *self.dice.pick(&orders));
        let text = if self.dice.percent(30) {
            format!("transpose({x})")
        } else {
            format!("transpose({x}, {order})")
        };
        Value { text, fails: false, instead: None }
    }

    /// A form of the language.
    fn form(&mut self) -> Value {
        let dtype = *self.dice.pick(&NUMBERS);
        let rank = self.dice.below(3);
        let (a, b) = (self.atom((dtype, rank)), self.atom((dtype, rank)));
        let x = self.base();
        let n = self.dice.within(2, 5);
        let (text, instead): (String, Option<&str>) = match self.dice.below(18) {
            0 => (format!("{a} + {b}"), None),
            1 => (format!("{a} - {b} * {b}"), None),
            2 => (format!("{a} * {}", self.atom((dtype, 0))), None),
            3 => (format!("f32({x}) / {n}.0"), None),
            4 => (format!("100 // ({x} % {n})"), Some("-1")),
            5 => (format!("({x} * 7) % ({x} // {n})"), Some("0")),
            6 => (format!("if {} then {a} else {b}", self.condition()), None),
            7 => (format!("arange({n})[{x} % {}]", n + 2), Some("9")),
            8 => (format!("{}[-1]", self.atom((dtype, 2))), None),
            9 => (format!("{}[:, 1:]", self.atom((dtype, 2))), None),
            10 => (over_itself(&format!("[k * {x} for k in 1..{n}]"), n), None),
            11 => (over_itself(&format!("[uniform() + f32(k) for k in 0..{x} % {n}]"), n), None),
            12 => (format!("one_of([{a}, {b}])"), None),
            13 => (format!("{}.shape[0]", self.atom((DType::U8, 3))), None),
            14 => (format!("{a} < {b}"), None),
            15 => (format!("parse_int({})", self.atom((DType::Str, 0))), Some("-7")),
            16 => (format!("not ({}) and {x} not in [1, 2, {n}]", self.condition()), None),
            _ => (format!("stack([{a}, {b}])"), None),
        };
        Value { text, fails: instead.is_some(), instead }
    }
}

/// A list, or half of the time what a function makes of it that uses it while it goes through it.
fn over_itself(list: &str, n: i64) -> String {
    if n % 2 == 0 { list.to_owned() } else { format!("over_itself({list})") }
}

/// Whether a type has these extents; none is free.
fn fits(ty: &Type, extents: &[Option<u64>]) -> bool {
    let fits = |(it, wanted): (&Extent, &Option<u64>)| match (it, wanted) {
        (Extent::Known(it), Some(wanted)) => it == wanted,
        (_, wanted) => wanted.is_none(),
    };
    ty.shape().is_some_and(|it| it.len() == extents.len() && it.iter().zip(extents).all(fits))
}
