//! Calls: of the program's own functions and of the library's.

use super::{
    Checker, Env, Known, Val,
    args::Given,
    fit::{EntryWords, Kind, Vars, entry_words, kind, one_formal, result},
    library,
    scope::Scope,
};
use crate::{
    ast::{self, DeclarationKind, EffectKind},
    errors::check as errors,
    registry::{Function, Kind as EntryKind, LIBRARY_FILES},
};
use plan::{Action, Applied, Arg, Draw, Expr, Intrinsic, Span, Type, VALUE_BYTES_MAX, mix};
use std::mem;

impl<'a> Checker<'a> {
    /// A call, with what stands left of `|>` as its first argument.
    pub(super) fn call(
        &mut self,
        call: &ast::Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        let name = call.name.text.as_str();
        if let Some(found) = self.names.called.get(&(env.file, name)).copied() {
            return self.call_declared(found, call, piped, env);
        }
        if let Some(found) = self.names.library.get(name).copied()
            && super::names::is_called(found)
        {
            return self.call_declared(found, call, piped, env);
        }
        let operator = self.registry.get(name, EntryKind::Operator);
        let function = self.registry.get(name, EntryKind::Function);
        let both = operator.is_some()
            && (function.is_some()
                || operator.is_some_and(|it| it.entry.action() == Some(Action::Window)));
        let is_lost = function.is_none() && super::lists::is_lost_stream(piped.as_ref(), env);
        if both && !is_lost && !self.is_of_stream(call, piped.as_ref(), env) {
            return match function {
                Some(function) => self.call_library(function, call, piped, env),
                None => self.call_windows(call, piped, env),
            };
        }
        if let Some(found) = operator.or_else(|| self.registry.find(name)) {
            return self.call_library(found, call, piped, env);
        }
        if name == "one_of" {
            return self.call_one_of(call, piped, env);
        }
        // On a stream the arguments may speak of fields that cannot be known.
        match &piped {
            None => call.args.iter().for_each(|it| drop(self.value(&it.value, env))),
            Some((val, _)) if !val.has_stream() && !val.is_broken() => {
                call.args.iter().for_each(|it| drop(self.value(&it.value, env)));
            }
            Some(_) => self.arguments_alone(call, env),
        }
        self.unknown_call(call, piped, env)
    }

    /// Whether a name is that of a function and of no operator.
    pub(super) fn is_function(&self, name: &str, env: &Env<'_>) -> bool {
        let declared = self.names.called.get(&(env.file, name)).or(self.names.library.get(name));
        match declared {
            Some(it) => it.kind.is_function(),
            None => {
                self.registry.get(name, EntryKind::Operator).is_none()
                    && self.registry.get(name, EntryKind::Function).is_some()
            }
        }
    }

    /// Looks for mistakes within the arguments of a call that cannot be made.
    fn arguments_alone(&mut self, call: &ast::Call, env: &mut Env<'_>) {
        let mut inner = env.with(Scope::Record(Val::Broken, None));
        for arg in &call.args {
            self.value(&arg.value, &mut inner);
        }
    }

    fn unknown_call(&mut self, call: &ast::Call, piped: Option<(Val, Span)>, env: &Env<'_>) -> Val {
        let name = call.name.text.as_str();
        if let Some((_, what)) = self.registry.later(name) {
            if !self.missing.insert(name.to_owned()) {
                return Val::Broken;
            }
            return self.report(errors::comes_later(&call.name, what));
        }
        if self.names.named.contains_key(&(env.file, name)) {
            return self.report(errors::not_called(&call.name));
        }
        let own = self.names.called.keys().filter(|it| it.0 == env.file).map(|it| it.1);
        let own: Vec<&str> = own.collect();
        let mut library: Vec<&str> = self.registry.names().collect();
        library.extend(self.names.library.keys());
        let behind = piped.as_ref().map(|it| it.1);
        let kind = match piped {
            Some((Val::Stream(_), _)) => "operator",
            Some((Val::Broken, _)) => "operator or function",
            _ => "function",
        };
        let diagnostic = errors::unknown_function(call, (&own, &library), (kind, behind));
        self.report(diagnostic)
    }

    /// A call of what the program, or the library in the language, declares.
    fn call_declared(
        &mut self,
        declaration: &'a ast::Declaration,
        call: &ast::Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        if declaration.broken {
            self.arguments_alone(call, env);
            return Val::Broken;
        }
        let on_stream = matches!(piped, Some((Val::Stream(_), _)));
        let (formals, body) = match &declaration.kind {
            DeclarationKind::Extern(it) if it.is_pipeline => {
                return self.call_extern_pipeline((it, declaration.span.file), call, piped, env);
            }
            DeclarationKind::Fn(_) | DeclarationKind::Extern(_) if on_stream => {
                return self.report(errors::function_on_stream(call));
            }
            DeclarationKind::Fn(it) => (it.signature.formals.as_slice(), &it.body),
            DeclarationKind::Pipeline(it) => (it.formals.as_deref().unwrap_or_default(), &it.body),
            DeclarationKind::Extern(it) => {
                return self.call_extern((it, declaration.span.file), call, piped, env);
            }
            _ => return Val::Broken,
        };
        let Some(given) = self.bind(formals, call, piped) else { return Val::Broken };
        let place = self.place(&call.name, env);
        let inner =
            format!("{}.{}#{}", env.pipeline, call.name.text, self.names.ordinal(call.name.span));
        let mut callee = Env::new(declaration.span.file, place, &inner);
        let params = self.params((&call.name, formals), &given, (env, &callee));
        let Some(params) = params else { return Val::Broken };
        let is_pipeline = matches!(declaration.kind, DeclarationKind::Pipeline(_));
        if is_pipeline && env.is_in_record() && params.iter().any(|it| it.1.is_computed()) {
            return self.report(errors::stream_in_record(call.span));
        }
        callee.scopes.push(Scope::Params(params));
        self.expand(declaration, call, |it| it.value(body, &mut callee))
    }

    /// The chain of calls with this one behind it.
    pub(super) fn place(&self, name: &ast::Name, env: &Env<'_>) -> u64 {
        let number = u64::from(self.names.ordinal(name.span));
        mix(mix(env.place, plan::hash(name.text.as_bytes())), number)
    }

    /// The values of parameters.
    pub(super) fn params(
        &mut self,
        (name, formals): (&ast::Name, &[ast::Formal]),
        given: &[Option<Given<'_>>],
        (caller, callee): (&mut Env<'_>, &Env<'_>),
    ) -> Option<Vec<(String, Val)>> {
        let mut params: Vec<(String, Val)> = Vec::new();
        // `a: u8[h, w, 3], b: u8[h, w, 1]`: the same `h` and `w`.
        let mut vars = Vars::default();
        for (formal, given) in formals.iter().zip(given) {
            let (val, at) = match given {
                Some(Given::Value(val, at)) => (val.clone(), *at),
                Some(Given::Written(expr)) => (self.param_value(formal, expr, caller), expr.span),
                None => {
                    let Some(default) = &formal.default else { return None };
                    let mut inner = callee.with(Scope::Params(params.clone()));
                    let found = self.once(formal.span, &formal.name, |checker| {
                        checker.param_value(formal, default, &mut inner)
                    });
                    (found, default.span)
                }
            };
            let val = self.conform((name, formal), val, (at, &mut vars));
            params.push((formal.name.text.clone(), val));
        }
        Some(params)
    }

    /// An argument; a bare word where the parameter is one of some words.
    fn param_value(&mut self, formal: &ast::Formal, expr: &ast::Expr, env: &mut Env<'_>) -> Val {
        if let Some(words) = entry_words(formal.type_.as_ref())
            && let ast::ExprKind::Record(entries) = &expr.kind
        {
            return self.record_of_words(entries, words, env);
        }
        match (kind(formal.type_.as_ref()), &expr.kind) {
            (Kind::Words(words), ast::ExprKind::Name(name))
                if words.iter().any(|it| it.text == *name) =>
            {
                Val::Known(Known::Word(name.clone()))
            }
            (Kind::Names, _) => self.names_value(expr, env),
            (_, ast::ExprKind::Name(name))
                if name == "none" && formal.span.file.0 >= LIBRARY_FILES =>
            {
                Val::Known(Known::Word(name.clone()))
            }
            _ => self.value(expr, env),
        }
    }

    /// A record whose fields are bare words, such as dtypes, or values.
    pub(super) fn record_of_words(
        &mut self,
        entries: &[ast::Entry],
        words: EntryWords,
        env: &mut Env<'_>,
    ) -> Val {
        let mut fields: Vec<(String, Val)> = Vec::new();
        for entry in entries {
            if fields.iter().any(|it| it.0 == entry.name.text) {
                return self.report(errors::field_twice(&entry.name));
            }
            let val = match &entry.value.kind {
                ast::ExprKind::Name(word) if words.has(word) => {
                    Val::Known(Known::Word(word.clone()))
                }
                ast::ExprKind::Name(word) if words == EntryWords::DTypes => {
                    let name = ast::Name { text: word.clone(), span: entry.value.span };
                    self.report(errors::unknown_type(&name))
                }
                _ => self.entry_value(entry, words, env),
            };
            if val.is_broken() {
                return Val::Broken;
            }
            fields.push((entry.name.text.clone(), val));
        }
        Val::Record(fields)
    }

    /// The value, if it is of the type that a program's own function asks for.
    fn conform(
        &mut self,
        (function, formal): (&ast::Name, &ast::Formal),
        val: Val,
        (at, vars): (Span, &mut Vars),
    ) -> Val {
        let Some(type_) = &formal.type_ else { return val };
        match (kind(Some(type_)), &val) {
            (_, Val::Broken) | (Kind::Any | Kind::Stream | Kind::Streams, _) => val,
            (Kind::Words(words), Val::Known(Known::Word(it) | Known::Text(it))) => {
                if words.iter().any(|word| word.text == *it) {
                    return val;
                }
                self.report(errors::not_one_of(it, words, at))
            }
            (Kind::Words(words), _) => {
                let shown = self.shown(&val);
                let words: Vec<&str> = words.iter().map(|it| it.text.as_str()).collect();
                let wanted = format!("one of `{}`", words.join("`, `"));
                self.report(errors::wanted(&formal.name.text, &wanted, &shown, at))
            }
            (Kind::Tensor("path", _), Val::Known(Known::Text(_))) => val,
            (Kind::Tensor(name, extents), Val::Known(Known::Number(_)))
                if extents.is_empty() && plan::DType::named(name).is_some() =>
            {
                let like = plan::DType::named(name);
                self.node_of(&val, like, at).map_or(Val::Broken, Val::Expr)
            }
            (Kind::Tensor(..), Val::Expr(id)) => {
                let signature = one_formal(function, formal);
                let before = mem::take(vars);
                match self.unify_with(before, (&signature, &[Arg::Expr(*id)]), at) {
                    Some(found) => {
                        *vars = found.of_extents();
                        val
                    }
                    None => Val::Broken,
                }
            }
            _ => val,
        }
    }

    /// Evaluates a definition within its call, unless it calls itself.
    pub(super) fn expand(
        &mut self,
        declaration: &ast::Declaration,
        call: &ast::Call,
        check: impl FnOnce(&mut Self) -> Val,
    ) -> Val {
        self.once(declaration.span, &call.name, |checker| {
            if checker.depth >= super::DEPTH_MAX {
                return checker.report(errors::too_deep(call.span, super::DEPTH_MAX));
            }
            let (user_call, user_pattern) = (checker.user_call, checker.user_pattern);
            if call.span.file.0 < LIBRARY_FILES {
                let is_pattern =
                    |it: &&ast::Arg| it.name.as_ref().is_none_or(|it| it.text == "pattern");
                checker.user_call = Some(call.span);
                checker.user_pattern = call.args.iter().find(is_pattern).map(|it| it.value.span);
            }
            checker.depth += 1;
            let found = check(checker);
            checker.depth -= 1;
            (checker.user_call, checker.user_pattern) = (user_call, user_pattern);
            found
        })
    }

    /// Whether a name that is both a function and an operator stands on a stream.
    fn is_of_stream(
        &mut self,
        call: &ast::Call,
        piped: Option<&(Val, Span)>,
        env: &mut Env<'_>,
    ) -> bool {
        if let Some((val, _)) = piped {
            return val.has_stream();
        }
        let in_record = env.scopes.iter().any(|it| matches!(it, Scope::Record(..)));
        let first = call.args.first().filter(|_| !in_record);
        // What is found here is found again when the call is made; streams cost little.
        first.is_some_and(|it| self.value(&it.value, env).has_stream())
    }

    fn call_one_of(
        &mut self,
        call: &ast::Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        let written = call.args.first().map(|it| (self.value(&it.value, env), it.value.span));
        match piped.or(written) {
            Some((Val::List(all), at)) => {
                let mut inner = env.clone();
                inner.place = self.place(&call.name, env);
                self.one_of(&all, at, &inner)
            }
            Some((Val::Broken, _)) => Val::Broken,
            Some((other, at)) => {
                let shown = self.shown(&other);
                self.report(errors::not_a_list(&shown, at))
            }
            None => self.report(errors::takes_a_list(&call.name)),
        }
    }

    /// A call of an entry of the library.
    fn call_library(
        &mut self,
        found: &'a Function,
        call: &ast::Call,
        piped: Option<(Val, Span)>,
        env: &mut Env<'_>,
    ) -> Val {
        match (found.is_operator, &piped) {
            (true, _) => return self.operator(found, call, piped, env),
            (false, Some((Val::Stream(_), _))) if !found.is_source => {
                return self.report(errors::function_on_stream(call));
            }
            _ => {}
        }
        if found.is_source {
            return self.source(found, call, piped, env);
        }
        let Some(given) = self.bind(&found.signature.formals, call, piped) else {
            return Val::Broken;
        };
        if let Some(intrinsic) = found.entry.intrinsic {
            return self.call_intrinsic(intrinsic, &given, call, env);
        }
        let place = self.place(&call.name, env);
        match self.library_args(found, &given, call.span, env) {
            Some(args) => self.apply(found, args, call.span, place),
            None => Val::Broken,
        }
    }

    fn call_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        given: &[Option<Given<'_>>],
        call: &ast::Call,
        env: &mut Env<'_>,
    ) -> Val {
        let mut vals = Vec::new();
        for it in given.iter().flatten() {
            let (val, at) = match it {
                Given::Value(val, at) => (val.clone(), *at),
                Given::Written(expr) => (self.value(expr, env), expr.span),
            };
            if val.is_broken() {
                return Val::Broken;
            }
            vals.push((val, at));
        }
        match (intrinsic, vals.as_slice()) {
            (Intrinsic::Binary(op), [(a, a_at), (b, b_at)]) => {
                let result = self.intrinsic_binary(op, (a, *a_at), (b, *b_at));
                // `min` and `max` of truths are `and` and `or`.
                let fits = |it: plan::DType| match it {
                    plan::DType::Bool => op != plan::Binary::Pow,
                    it => !it.is_text(),
                };
                match result {
                    Val::Expr(id) if !self.ty(id).dtype().is_some_and(fits) => {
                        let ty = self.ty(id);
                        self.report(errors::wanted_number(&call.name, &ty, a_at.to(*b_at)))
                    }
                    other => other,
                }
            }
            (Intrinsic::Cast(to), [(a, at)]) => self.cast_to(a, to, *at, call),
            (Intrinsic::Unary(op), [(a, at)]) => {
                let float = !matches!(op, plan::Unary::Abs | plan::Unary::Neg | plan::Unary::Not);
                let Some(id) = self.node_of(a, None, *at) else { return Val::Broken };
                let Some(dtype) = self.ty(id).dtype().filter(|it| it.is_float() || it.is_int())
                else {
                    let ty = self.ty(id);
                    return self.report(errors::wanted_number(&call.name, &ty, *at));
                };
                let rounds =
                    matches!(op, plan::Unary::Floor | plan::Unary::Ceil | plan::Unary::Round);
                let id = if float && !rounds && dtype.is_int() {
                    let wide = matches!(dtype, plan::DType::I64 | plan::DType::U64);
                    self.cast(id, if wide { plan::DType::F64 } else { plan::DType::F32 })
                } else {
                    id
                };
                self.intrinsic_unary(op, id)
            }
            _ => Val::Broken,
        }
    }

    fn cast_to(&mut self, a: &Val, to: plan::DType, at: Span, call: &ast::Call) -> Val {
        if let Val::Known(Known::Number(it)) = a
            && to.is_float()
        {
            let float = Val::float(it.as_f64());
            return self.node_of(&float, Some(to), at).map_or(Val::Broken, Val::Expr);
        }
        let Some(id) = self.node_of(a, None, at) else { return Val::Broken };
        match self.ty(id).dtype() {
            Some(dtype) if !dtype.is_text() => Val::Expr(self.cast(id, to)),
            _ => {
                let ty = self.ty(id);
                self.report(errors::wanted_number(&call.name, &ty, at))
            }
        }
    }

    /// The arguments of a function of the library, defaults filled in.
    fn library_args(
        &mut self,
        found: &Function,
        given: &[Option<Given<'_>>],
        at: Span,
        env: &mut Env<'_>,
    ) -> Option<Vec<Arg>> {
        let formals = &found.signature.formals;
        let mut args: Vec<Arg> = Vec::with_capacity(formals.len());
        let mut fine = true;
        for (formal, given) in formals.iter().zip(given) {
            let arg = match given {
                None => self.absent(formal, (formals, &args), at),
                Some(Given::Value(val, at)) => self.fit(formal, val, *at),
                Some(Given::Written(expr)) => {
                    let val = self.param_value(formal, expr, env);
                    match val {
                        Val::Known(Known::Word(it)) if it == "none" => Some(Arg::None),
                        val => self.fit(formal, &val, expr.span),
                    }
                }
            };
            fine &= arg.is_some();
            args.push(arg.unwrap_or(Arg::None));
        }
        fine.then_some(args)
    }

    /// What a parameter is when nothing was given for it.
    fn absent(
        &mut self,
        formal: &ast::Formal,
        others: (&[ast::Formal], &[Arg]),
        at: Span,
    ) -> Option<Arg> {
        if let Kind::Sources = kind(formal.type_.as_ref()) {
            return Some(Arg::Sources(self.sources_of(self.input)));
        }
        self.default_arg(formal, others, at)
    }

    /// A call that the checker makes itself; arguments that are left out have their defaults.
    pub(super) fn library_call(&mut self, name: &str, mut args: Vec<Arg>, at: Span) -> Val {
        let Some(found) = self.registry.get(name, EntryKind::Function) else {
            return self.report(errors::library_lacks(name, at));
        };
        let formals = &found.signature.formals;
        while args.len() < formals.len() {
            let Some(arg) = self.absent(&formals[args.len()], (formals, &args), at) else {
                return Val::Broken;
            };
            args.push(arg);
        }
        self.apply(found, args, at, 0)
    }

    /// The same of a function that draws.
    pub(super) fn draw_call(&mut self, name: &str, args: Vec<Arg>, at: Span, env: &Env<'_>) -> Val {
        let Some(found) = self.registry.find(name) else {
            return self.report(errors::library_lacks(name, at));
        };
        let place = mix(env.place, plan::hash(name.as_bytes()));
        self.apply(found, args, at, place)
    }

    /// The node of a call, once its types fit.
    fn apply(&mut self, found: &Function, args: Vec<Arg>, at: Span, place: u64) -> Val {
        if !self.step(at) || self.takes_texts(&args, at) {
            return Val::Broken;
        }
        if let Some(joined) = self.joined_loop(found, &args) {
            return joined;
        }
        let Some(vars) = self.unify(found.signature, &args, at) else { return Val::Broken };
        if let Some(known) = self.known_extent(found.entry.name(), &args) {
            return Val::int(known);
        }
        let refused = |why: &str| errors::refused(&found.signature.name.text, why, at);
        match found.entry.known(&args) {
            Some(Ok(number)) => return Val::int(number),
            Some(Err(why)) => return self.report(refused(&why)),
            None => {}
        }
        let ty = match found.entry.result {
            Some(result) => match result(&self.applied(&args)) {
                Ok(ty) => ty,
                Err(why) => return self.report(refused(&why)),
            },
            None => match found.signature.result.as_ref().and_then(|it| result(it, &vars)) {
                Some(ty) => ty,
                None => return self.report(errors::library_lacks(found.entry.name(), at)),
            },
        };
        if self.is_too_large(&ty, &args) {
            return self.report(errors::value_too_large(&ty, at));
        }
        let random = found.signature.has(EffectKind::Random);
        let draw = random.then(|| Draw { place, vars: self.loops.clone() });
        let function = found.entry.name().to_owned();
        Val::Expr(self.node(Expr::Call { function, args, draw }, ty))
    }

    /// Whether no run could hold a value of this type, made of `args`. A view of what is as large
    /// takes nothing.
    fn is_too_large(&self, ty: &Type, args: &[Arg]) -> bool {
        let Some(shape) = ty.fixed() else { return false };
        if ty.fixed_bytes().is_some_and(|it| it <= VALUE_BYTES_MAX) {
            return false;
        }
        let elements = |shape: &[usize]| shape.iter().fold(1, |n: usize, it| n.saturating_mul(*it));
        let as_large = |it: &Arg| match it {
            Arg::Expr(id) => {
                let found = self.graph.ty(*id).fixed();
                found.is_some_and(|it| elements(&it) >= elements(&shape))
            }
            _ => false,
        };
        !args.iter().any(as_large)
    }

    /// How long an axis is, where the type says it: `len(x)`, `extent(x, 0)`.
    fn known_extent(&self, name: &str, args: &[Arg]) -> Option<i64> {
        let axis = match (name, args.get(1)) {
            (library::LEN, _) => 0,
            (library::EXTENT, Some(Arg::Int(axis))) => usize::try_from(*axis).ok()?,
            _ => return None,
        };
        let Some(Arg::Expr(id)) = args.first() else { return None };
        match self.graph.ty(*id).shape()?.get(axis)? {
            plan::Extent::Known(n) => i64::try_from(*n).ok(),
            _ => None,
        }
    }

    fn applied<'s>(&'s self, args: &'s [Arg]) -> Applied<'s> {
        Applied { args, graph: &self.graph, inputs: &[], names: &[], found: &[] }
    }
}
