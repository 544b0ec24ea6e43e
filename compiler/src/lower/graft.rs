//! Copies expressions from one graph into another, with all that they need and nothing else.

use crate::analysis::live::live;
use plan::{Arg, Expr, ExprId, Graph, Index, OpId, StageId, VarId};
use std::collections::{BTreeMap, HashMap};

/// The copying of one graph, or of a part of it.
pub(crate) struct Graft<'a> {
    from: &'a Graph,
    to: &'a mut Graph,
    /// What each node has become.
    become_: HashMap<ExprId, ExprId>,
    vars: HashMap<VarId, VarId>,
    /// The stage of each source, where calls that ask one are to name stages.
    sources: Option<&'a BTreeMap<OpId, StageId>>,
    /// Whether what is tried stays so where it is a column: the step before may run as one with this one, and
    /// then its faults are this one's.
    keeps_else: bool,
}

impl<'a> Graft<'a> {
    /// Nothing is copied yet.
    pub(crate) fn new(from: &'a Graph, to: &'a mut Graph) -> Self {
        Self {
            from,
            to,
            become_: HashMap::new(),
            vars: HashMap::new(),
            sources: None,
            keeps_else: false,
        }
    }

    /// The same, where loop variables keep their names.
    pub(crate) fn keeping_vars(from: &'a Graph, to: &'a mut Graph) -> Self {
        to.n_vars = from.n_vars;
        let vars = (0..from.n_vars).map(|it| (VarId(it), VarId(it))).collect();
        Self { vars, ..Self::new(from, to) }
    }

    /// Columns become these values.
    pub(crate) fn on(mut self, columns: &[ExprId]) -> Self {
        for (id, expr, _) in self.from.iter() {
            if let Expr::Column(i) = expr {
                self.become_.insert(id, columns[*i as usize]);
            }
        }
        self
    }

    /// Calls that name operators of the plan name stages instead.
    pub(crate) fn naming(mut self, sources: &'a BTreeMap<OpId, StageId>) -> Self {
        self.sources = Some(sources);
        self
    }

    /// For rewriting a plan, whose steps are still to be put together.
    pub(crate) fn keeping_else(self) -> Self {
        Self { keeps_else: true, ..self }
    }

    /// The node `id` becomes `value` of the other graph.
    pub(crate) fn put(&mut self, id: ExprId, value: ExprId) {
        self.become_.insert(id, value);
    }

    /// The node `id` becomes column `i` of the other graph.
    pub(crate) fn cut(&mut self, id: ExprId, i: u32) {
        let column = self.to.add(Expr::Column(i), self.from.ty(id).clone());
        self.become_.insert(id, column);
    }

    /// Copies `roots` and what they need.
    pub(crate) fn copy(&mut self, roots: &[ExprId]) -> Vec<ExprId> {
        let known: Vec<ExprId> = self.become_.keys().copied().collect();
        let live = live(self.from, roots, &known);
        for (id, expr, ty) in self.from.iter() {
            if live[id.row()] && !self.become_.contains_key(&id) {
                let expr = self.renamed(expr.clone());
                let copy = match self.sure(&expr) {
                    Some(value) => value,
                    None => self.to.add(expr, ty.clone()),
                };
                self.become_.insert(id, copy);
            }
        }
        roots.iter().map(|it| self.become_[it]).collect()
    }

    /// What a node has become, if it has been copied.
    pub(crate) fn become_of(&self, id: ExprId) -> Option<ExprId> {
        self.become_.get(&id).copied()
    }

    /// What has been copied: the old nodes, and what they have become.
    pub(crate) fn pairs(&self) -> Vec<(ExprId, ExprId)> {
        let mut pairs: Vec<_> = self.become_.iter().map(|(&old, &new)| (old, new)).collect();
        pairs.sort_unstable();
        pairs
    }

    /// What a loop variable of the one graph is called in the other.
    pub(crate) fn var(&mut self, var: VarId) -> VarId {
        *self.vars.entry(var).or_insert_with(|| self.to.var())
    }

    /// What is tried, where it is there already and cannot fail any more.
    fn sure(&self, expr: &Expr) -> Option<ExprId> {
        let Expr::Else { value, .. } = expr else { return None };
        match self.to.expr(*value) {
            Expr::Const(_) => Some(*value),
            Expr::Column(_) if !self.keeps_else => Some(*value),
            _ => None,
        }
    }

    fn renamed(&mut self, expr: Expr) -> Expr {
        let mut expr = expr.with_needs(|it| self.become_[&it]);
        match &mut expr {
            Expr::Var(var) | Expr::Stack { var, .. } => *var = self.var(*var),
            Expr::Call { args, draw, .. } => {
                if let Some(sources) = self.sources {
                    args.iter_mut().for_each(|it| name_stages(it, sources));
                }
                let vars = draw.iter_mut().flat_map(|it| &mut it.vars);
                vars.for_each(|it| *it = self.var(*it));
            }
            _ => {}
        }
        expr
    }
}

/// Makes an argument that names sources of the plan name their stages.
pub(crate) fn name_stages(arg: &mut Arg, sources: &BTreeMap<OpId, StageId>) {
    if let Arg::Sources(ops) = arg {
        let stages = ops.iter().filter_map(|&it| sources.get(&OpId(it)).map(|it| it.0));
        *ops = stages.collect();
    }
}
