//! Parts of values: fields, elements, slices, and what untyped data are.

use super::{Checker, Env, Known, Val, columns::field_names, library};
use crate::{ast, errors::check as errors};
use plan::{Arg, DType, ExprId, Extent, Span, Type};

impl<'a> Checker<'a> {
    /// `base.name`
    pub(super) fn field(&mut self, base: &ast::Expr, name: &ast::Name, env: &mut Env<'_>) -> Val {
        match self.value(base, env) {
            Val::Broken => Val::Broken,
            Val::Record(fields) => match fields.iter().find(|(it, _)| *it == name.text) {
                Some((_, val)) => val.clone(),
                None => {
                    let names: Vec<&str> = fields.iter().map(|(it, _)| it.as_str()).collect();
                    self.report(errors::no_such_field(name, &names))
                }
            },
            Val::Expr(id) if name.text == "shape" => self.shape(id, name.span),
            other => {
                let shown = self.shown(&other);
                self.report(errors::no_fields(name, &shown))
            }
        }
    }

    /// `x.shape`: known as far as the type says, else found for each record.
    fn shape(&mut self, id: ExprId, at: Span) -> Val {
        let ty = self.ty(id);
        let Some(shape) = ty.shape().map(<[_]>::to_vec) else {
            return self.report(errors::no_shape(&ty, at));
        };
        let extent = |(axis, it): (usize, &Extent)| match it {
            Extent::Known(n) => Val::int(i64::try_from(*n).unwrap_or(i64::MAX)),
            _ => self.library_call(library::EXTENT, vec![Arg::Expr(id), Arg::Int(axis as i64)], at),
        };
        Val::List(shape.iter().enumerate().map(extent).collect())
    }

    /// `base[places]`
    pub(super) fn index(
        &mut self,
        base: &ast::Expr,
        places: &[ast::Place],
        env: &mut Env<'_>,
    ) -> Val {
        let mut val = self.value(base, env);
        let mut axis = 0;
        for place in places {
            if val.is_broken() {
                return Val::Broken;
            }
            val = match place {
                ast::Place::At(at) => {
                    let index = self.value(at, env);
                    self.at(val, (&index, at.span), &mut axis)
                }
                ast::Place::Slice { from, to, span } => {
                    let ends = [from, to].map(|it| it.as_ref().map(|it| self.value(it, env)));
                    self.slice(val, ends, *span, &mut axis)
                }
            };
        }
        val
    }

    fn at(&mut self, val: Val, (index, at): (&Val, Span), axis: &mut usize) -> Val {
        match (&val, index) {
            (_, Val::Broken) => Val::Broken,
            (Val::List(all), Val::Known(Known::Number(it))) => {
                let len = all.len() as i64;
                let i = it.as_int().map(|it| if it < 0 { it + len } else { it });
                let found = i.and_then(|it| all.get(usize::try_from(it).ok()?));
                match found {
                    Some(val) => val.clone(),
                    None => self.report(errors::outside_list(all.len(), at)),
                }
            }
            (Val::List(all), _) => {
                let Some(id) = self.list_node(all, None, at) else { return Val::Broken };
                self.at(Val::Expr(id), (index, at), axis)
            }
            (Val::Expr(id), _) if self.ty(*id).is_untyped() => self.untyped_at(*id, index, at),
            (Val::Expr(id), _) => self.element(*id, (index, at), axis),
            (Val::Record(fields), Val::Known(Known::Text(name))) => {
                let names = field_names(fields);
                let unnamed = self.input.and_then(|it| self.unnamed(name, it));
                let unnamed = unnamed.filter(|it| it.is_meant && names.contains(&it.column));
                self.report(errors::field_by_text(name, &names, unnamed.as_ref(), at))
            }
            _ => {
                let shown = self.shown(&val);
                self.report(errors::no_elements(&shown, at))
            }
        }
    }

    fn untyped_at(&mut self, id: ExprId, index: &Val, at: Span) -> Val {
        match index {
            // A node, as `untyped_field(row, "key")` has it: both are one plan, which a built file can carry.
            Val::Known(Known::Text(_)) => {
                let Some(key) = self.node_of(index, None, at) else { return Val::Broken };
                self.library_call(library::UNTYPED_FIELD, vec![Arg::Expr(id), Arg::Expr(key)], at)
            }
            Val::Expr(key) if self.is_scalar(*key, |it| it == DType::Str) => {
                self.library_call(library::UNTYPED_FIELD, vec![Arg::Expr(id), Arg::Expr(*key)], at)
            }
            Val::Expr(i) if self.is_scalar(*i, DType::is_int) => {
                self.library_call(library::UNTYPED_AT, vec![Arg::Expr(id), Arg::Expr(*i)], at)
            }
            Val::Known(Known::Number(it)) if it.as_int().is_some() => {
                let args = vec![Arg::Expr(id), Arg::Int(it.as_int().unwrap_or(0))];
                self.library_call(library::UNTYPED_AT, args, at)
            }
            other => {
                let shown = self.shown(other);
                self.report(errors::untyped_index(&shown, at))
            }
        }
    }

    /// Whether a node is one element of such a type.
    fn is_scalar(&self, id: ExprId, is: impl Fn(DType) -> bool) -> bool {
        let ty = self.ty(id);
        !ty.is_untyped() && ty.dtype().is_some_and(is) && ty.shape().is_some_and(<[_]>::is_empty)
    }

    fn element(&mut self, id: ExprId, (index, at): (&Val, Span), axis: &mut usize) -> Val {
        let ty = self.ty(id);
        let rank = ty.shape().map_or(0, <[_]>::len);
        if *axis >= rank {
            return self.report(errors::too_many_places(&ty, at));
        }
        if let Val::Expr(of) = index
            && !self.ty(*of).shape().is_some_and(<[_]>::is_empty)
        {
            if *axis != 0 {
                return self.report(errors::gather_first_axis(at));
            }
            *axis += 1;
            let is_condition = self.ty(*of).dtype() == Some(DType::Bool);
            let chosen = if is_condition { library::SELECT } else { library::GATHER };
            return self.library_call(chosen, vec![Arg::Expr(id), Arg::Expr(*of)], at);
        }
        let turned = self.front(id, *axis, rank, at);
        match turned {
            Some(id) => self.take_at(id, index, at),
            None => Val::Broken,
        }
    }

    /// The same elements with `axis` first.
    fn front(&mut self, id: ExprId, axis: usize, rank: usize, at: Span) -> Option<ExprId> {
        if axis == 0 {
            return Some(id);
        }
        let others = (0..rank).filter(|it| *it != axis);
        let order = std::iter::once(axis).chain(others).map(|it| Arg::Int(it as i64)).collect();
        match self.library_call(library::TRANSPOSE, vec![Arg::Expr(id), Arg::List(order)], at) {
            Val::Expr(id) => Some(id),
            _ => None,
        }
    }

    /// Element `index` of the first axis.
    pub(super) fn take_at(&mut self, id: ExprId, index: &Val, at: Span) -> Val {
        let Some(arg) = self.int_arg(index, at) else { return Val::Broken };
        if let (Arg::Int(i), Some(Some(Extent::Known(n)))) =
            (&arg, self.ty(id).shape().map(<[_]>::first))
        {
            let n = i64::try_from(*n).unwrap_or(i64::MAX);
            if !(-n..n).contains(i) {
                return self.report(errors::outside_list(n as usize, at));
            }
        }
        self.library_call(library::TAKE_AT, vec![Arg::Expr(id), arg], at)
    }

    fn slice(&mut self, val: Val, [from, to]: [Option<Val>; 2], at: Span, axis: &mut usize) -> Val {
        let Val::Expr(id) = val else {
            if let Val::List(all) = &val {
                let Some(id) = self.list_node(all, None, at) else { return Val::Broken };
                return self.slice(Val::Expr(id), [from, to], at, axis);
            }
            let shown = self.shown(&val);
            return self.report(errors::no_elements(&shown, at));
        };
        let ty = self.ty(id);
        if matches!(ty, Type::Untyped(it) if it.lies_in_file()) {
            if from.is_none() && to.is_none() {
                return val;
            }
            let Some(ends) = self.ends([from, to], at) else { return Val::Broken };
            let args = std::iter::once(Arg::Expr(id)).chain(ends).collect();
            return self.library_call(library::UNTYPED_SLICE, args, at);
        }
        if ty.dtype().is_some_and(DType::is_text) && !ty.is_untyped() && *axis == 0 {
            return self.part_of_text(id, [from, to], at);
        }
        if *axis >= ty.shape().map_or(0, <[_]>::len) {
            return self.report(errors::too_many_places(&ty, at));
        }
        let this = *axis as i64;
        *axis += 1;
        if from.is_none() && to.is_none() {
            return val;
        }
        let Some(ends) = self.ends([from, to], at) else { return Val::Broken };
        let args = [Arg::Expr(id), Arg::Int(this)].into_iter().chain(ends).collect();
        self.library_call(library::SLICE, args, at)
    }

    fn part_of_text(&mut self, id: ExprId, ends: [Option<Val>; 2], at: Span) -> Val {
        let Some(ends) = self.ends(ends, at) else { return Val::Broken };
        self.library_call(
            library::SUBSTRING,
            std::iter::once(Arg::Expr(id)).chain(ends).collect(),
            at,
        )
    }

    fn ends(&mut self, ends: [Option<Val>; 2], at: Span) -> Option<Vec<Arg>> {
        let arg = |it: Option<Val>| it.map_or(Some(Arg::None), |it| self.int_arg(&it, at));
        ends.into_iter().map(arg).collect()
    }

    /// A whole number as an argument: known, or a scalar of the record.
    pub(super) fn int_arg(&mut self, val: &Val, at: Span) -> Option<Arg> {
        match val {
            Val::Broken => None,
            Val::Known(Known::Number(it)) if it.as_int().is_some() => it.as_int().map(Arg::Int),
            Val::Expr(id) => {
                let ty = self.ty(*id);
                if self.is_scalar(*id, DType::is_int) {
                    return Some(Arg::Expr(*id));
                }
                self.report(errors::not_whole(&format!("`{ty}`"), at));
                None
            }
            other => {
                let shown = self.shown(other);
                self.report(errors::not_whole(&shown, at));
                None
            }
        }
    }

    /// `value as type_`
    pub(super) fn claim(
        &mut self,
        value: &ast::Expr,
        type_: &ast::TypeExpr,
        env: &mut Env<'_>,
    ) -> Val {
        let found = self.value(value, env);
        let Some(ty) = self.written_type(type_) else { return Val::Broken };
        match found {
            Val::Broken => Val::Broken,
            Val::Expr(id) if self.ty(id).is_untyped() => {
                let args = vec![Arg::Expr(id), Arg::Type(ty.clone())];
                let in_file = matches!(self.ty(id), Type::Untyped(it) if it.lies_in_file());
                let function = if in_file { library::READ_AS } else { library::AS_TYPE };
                match self.library_call(function, args, type_.span) {
                    Val::Expr(id) => {
                        let (expr, _) = (self.graph.expr(id).clone(), ());
                        Val::Expr(self.node(expr, ty))
                    }
                    other => other,
                }
            }
            other => {
                let shown = self.shown(&other);
                let is_text = match &other {
                    Val::Expr(id) => self.is_scalar(*id, |it| it == DType::Str),
                    other => matches!(other, Val::Known(Known::Text(_))),
                };
                self.report(errors::as_of_typed((&shown, is_text), &ty, value.span))
            }
        }
    }

    /// A type as it is written: a dtype with extents.
    pub(super) fn written_type(&mut self, type_: &ast::TypeExpr) -> Option<Type> {
        let ast::TypeKind::Named { name, extents } = &type_.kind else {
            if !matches!(type_.kind, ast::TypeKind::Broken) {
                self.report(errors::not_a_tensor_type(type_.span));
            }
            return None;
        };
        let Some(dtype) = DType::named(&name.text) else {
            self.report(errors::unknown_type(name));
            return None;
        };
        let extent = |it: &ast::Extent| match it {
            ast::Extent::Unknown(_) => Extent::Unknown,
            ast::Extent::Known(it) => match &it.kind {
                ast::ExprKind::Name(name) => Extent::Named(name.clone()),
                ast::ExprKind::Number(it) => match it.value {
                    ast::Value::Int(n) => Extent::Known(n),
                    ast::Value::Float(_) => Extent::Unknown,
                },
                _ => Extent::Unknown,
            },
        };
        Some(Type::Tensor { dtype, shape: extents.iter().map(extent).collect() })
    }
}
