//! Random programs, the same ones every time.

/// A generator of numbers (xorshift64*, Vigna 2016).
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice that fall the same way for the same seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    /// One of some.
    pub(crate) fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.below(from.len())]
    }

    /// True once in `n`.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A program that the grammar reads, as its tokens.
pub(crate) struct Program {
    pub(crate) dice: Dice,
    pub(crate) tokens: Vec<String>,
    depth: usize,
}

/// A program that has so many tokens soon ends.
const LARGE: usize = 300;

static NAMES: [&str; 8] = [
    "x",
    "image",
    "label_of",
    "skip",
    "another",
    "a_rather_long_name_of_something",
    "from",
    "each",
];
static ATOMS: [&str; 10] = [
    "1",
    "16_384",
    "25ms",
    "1e-3",
    "0.5",
    "\"{data}/*.{a,b}\"",
    "'as it stands'",
    "true",
    "it",
    "\"a \\\" b # c\"",
];

impl Program {
    /// A program of a few declarations.
    pub(crate) fn new(seed: u64) -> Self {
        let mut program = Self { dice: Dice::new(seed), tokens: Vec::new(), depth: 0 };
        if program.dice.once_in(2) {
            program.say("edition 2026");
        }
        for _ in 0..=program.dice.below(4) {
            program.declaration();
        }
        program
    }

    fn say(&mut self, words: &str) {
        self.tokens.extend(words.split('\u{1}').map(str::to_owned));
    }

    fn name(&mut self) {
        let name = self.dice.pick(&NAMES);
        self.say(name);
    }

    fn declaration(&mut self) {
        for _ in 0..self.dice.below(3) {
            self.say("\n## what it is\n");
        }
        match self.dice.below(6) {
            0 => self.param(),
            1 => {
                self.say("const");
                self.name();
                self.say("=");
                self.expr();
            }
            2 => self.function("fn"),
            3 => match self.dice.once_in(4) {
                true => self.function("extern pipeline"),
                false => self.function("extern fn"),
            },
            4 => self.import(),
            _ => {
                self.say("pipeline");
                self.name();
                if self.dice.once_in(2) {
                    self.formals();
                }
                self.say("=");
                self.expr();
            }
        }
    }

    fn param(&mut self) {
        self.say("param");
        self.name();
        if self.dice.once_in(2) {
            self.say(":");
            self.type_();
        }
        if self.dice.once_in(2) {
            self.say("=");
            self.expr();
        }
    }

    fn import(&mut self) {
        self.say("use");
        self.several(|it| it.name());
        self.say("from");
        self.say("\"a/b.pipe\"");
    }

    fn function(&mut self, keyword: &str) {
        self.say(keyword);
        self.name();
        self.formals();
        let effect = self.dice.pick(&["", "random", "random\u{1}fails", "pure"]);
        if !effect.is_empty() && keyword != "extern pipeline" {
            self.say(effect);
        }
        let is_extern = keyword.starts_with("extern");
        if is_extern || self.dice.once_in(2) {
            self.say("->");
            self.type_();
        }
        self.say("=");
        if is_extern { self.say("'m:f'") } else { self.expr() }
    }

    fn formals(&mut self) {
        self.say("(");
        if self.dice.once_in(2) {
            self.several(|it| {
                it.name();
                if it.dice.once_in(2) {
                    it.say(":");
                    it.type_();
                }
                if it.dice.once_in(3) {
                    it.say("=");
                    it.expr();
                }
            });
        }
        self.say(")");
    }

    fn several(&mut self, mut one: impl FnMut(&mut Self)) {
        one(self);
        for _ in 0..self.dice.below(4) {
            self.say(",");
            one(self);
        }
    }

    fn type_(&mut self) {
        match self.dice.below(4) {
            0 => self.say("drop\u{1}|\u{1}keep"),
            1 => {
                self.say("f32\u{1}[\u{1}?\u{1},");
                self.layer(6);
                self.say("]");
            }
            2 => {
                self.say("{\u{1}a\u{1}:\u{1}str\u{1},\u{1}image\u{1}:");
                self.name();
                let end = self.dice.pick(&["}", ",\u{1}}", ",\u{1}..\u{1}}"]);
                self.say(end);
            }
            _ => self.name(),
        }
    }

    /// An expression, not too large.
    fn expr(&mut self) {
        self.depth += 1;
        self.layer(1);
        for _ in 0..self.dice.below(4) {
            if self.depth > 3 || self.tokens.len() > LARGE {
                break;
            }
            match self.dice.below(5) {
                0 => self.otherwise(),
                1 => {
                    let word = self.dice.pick(&["map", "flat_map", "with", "where"]);
                    self.say("|>");
                    self.say(word);
                    self.layer(1);
                }
                2 => {
                    self.say("|>");
                    self.call();
                }
                _ => {
                    self.say("|>");
                    self.name();
                }
            }
        }
        self.depth -= 1;
    }

    fn otherwise(&mut self) {
        let policy = self.dice.pick(&[
            "skip",
            "another",
            "fail",
            "skip\u{1}(\u{1}most\u{1}:\u{1}1e-3\u{1})",
            "(\u{1}skip\u{1})",
            "1",
        ]);
        self.say("else");
        self.say(policy);
    }

    /// What binds as strongly as the layer of the grammar, or more.
    fn layer(&mut self, layer: usize) {
        let signs: &[&str] = match layer {
            1 => &["or"],
            2 => &["and"],
            4 => &["==", "<", ">=", "in", "not in"],
            5 => &[".."],
            6 => &["+", "-"],
            7 => &["*", "/", "//", "%"],
            9 => &["**"],
            _ => &[],
        };
        let more = self.depth < 6 && self.tokens.len() < LARGE && self.dice.once_in(6);
        match layer {
            3 if more => self.say("not"),
            8 if more => self.say("-"),
            12.. => return self.postfix(),
            _ => {}
        }
        self.layer(layer + 1);
        if more && !signs.is_empty() {
            let sign = self.dice.pick(signs);
            self.say(sign);
            self.depth += 1;
            let again = matches!(layer, 1 | 2 | 6 | 7) && self.dice.once_in(2);
            self.layer(if again { layer } else { layer + 1 });
            self.depth -= 1;
        }
        if layer == 10 && more {
            self.say("as");
            self.type_();
        }
    }

    fn postfix(&mut self) {
        self.atom();
        if self.depth > 4 || self.tokens.len() > LARGE || !self.dice.once_in(5) {
            return;
        }
        match self.dice.below(3) {
            0 => {
                self.say(".");
                self.name();
            }
            1 => {
                self.say("[");
                self.several(Self::expr);
                self.say("]");
            }
            _ => {
                self.say("[\u{1}:\u{1}-1\u{1},");
                self.expr();
                self.say(":\u{1}]");
            }
        }
    }

    fn atom(&mut self) {
        let choice = if self.depth > 3 || self.tokens.len() > LARGE {
            self.dice.below(4)
        } else {
            self.dice.below(11)
        };
        match choice {
            0 | 1 => self.name(),
            2 | 3 => {
                let atom = self.dice.pick(&ATOMS);
                self.say(atom);
            }
            4 | 5 => self.call(),
            6 => {
                self.say("(");
                self.expr();
                self.say(")");
            }
            7 => self.choice(),
            8 => self.list(),
            _ => self.record(),
        }
    }

    fn call(&mut self) {
        self.name();
        self.say("(");
        if !self.dice.once_in(4) {
            self.several(|it| {
                if it.dice.once_in(2) {
                    it.name();
                    it.say(":");
                }
                it.expr();
            });
        }
        self.say(")");
    }

    fn choice(&mut self) {
        self.depth += 1;
        for word in ["if", "then", "else"] {
            self.say(word);
            self.layer(1);
        }
        self.depth -= 1;
    }

    fn list(&mut self) {
        self.say("[");
        match self.dice.below(4) {
            0 => {}
            1 => {
                self.expr();
                self.say("for\u{1}x\u{1}in");
                self.layer(1);
            }
            2 => {
                self.several(Self::expr);
                self.say(",");
            }
            _ => self.several(Self::expr),
        }
        self.say("]");
    }

    fn record(&mut self) {
        self.say("{");
        if !self.dice.once_in(6) {
            self.several(|it| {
                it.name();
                if !it.dice.once_in(4) {
                    it.say(":");
                    it.expr();
                }
            });
        }
        self.say("}");
    }
}
