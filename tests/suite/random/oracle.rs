//! What the checker says about a program that is being written.

use crate::random::callee::{Callee, Class, Kind, PANEL};
use compiler::{Checked, InputError, Inputs, Request, registry::Registry};
use driver::{Files, Loaded};
use plan::{Arg, Field, File, Plan};
use std::{collections::BTreeMap, path::Path};

/// How every program begins.
pub(crate) const HEAD: &str = "edition 2026\nparam data: path\n\
    fn over_itself(xs) = [each + sum(xs) for each in xs]\n";

/// Asks the checker.
pub(crate) struct Oracle {
    registry: Registry,
    params: BTreeMap<String, String>,
    files: Files,
}

impl Oracle {
    /// `data` is where programs find their files.
    pub(crate) fn new(data: &Path) -> Self {
        let params = BTreeMap::from([("data".to_owned(), data.display().to_string())]);
        Self { registry: Registry::new(stdlib::library()), params, files: Files::default() }
    }

    /// The plan of a pipeline of `text`, or the first message.
    pub(crate) fn plan(&self, text: &str, pipeline: &str) -> Result<Plan, String> {
        let loaded = Loaded::from_text(Path::new("random.pipe"), text.to_owned());
        let request = Request {
            files: &loaded.trees,
            imports: &loaded.imports,
            pipeline: Some(pipeline),
            params: &self.params,
            needs_params: true,
            only: None,
            asked_only: false,
            inputs: &Probe(&self.files),
        };
        let Checked { plan, diagnostics: found, .. } = compiler::check(&request, &self.registry);
        let mut mistakes = loaded.diagnostics.iter().chain(&found).filter(|it| it.is_error());
        match (mistakes.next(), plan) {
            (None, Some(plan)) => Ok(plan),
            (found, _) => Err(found.map_or("no plan".to_owned(), |it| it.message.clone())),
        }
    }

    /// What the parameters of any type of `callee` take.
    pub(crate) fn classes(&self, callee: &Callee) -> Vec<Class> {
        let taken = |(_, atom): &&(Class, &str)| {
            let call = tried(callee, atom);
            self.plan(&format!("{HEAD}pipeline p = range(9) |> map {{ x: {call} }}\n"), "p").is_ok()
        };
        PANEL.iter().filter(taken).map(|it| it.0).collect()
    }
}

/// A plain call, with `atom` for all that may be of any type.
fn tried(callee: &Callee, atom: &str) -> String {
    let required = callee.parameters.iter().filter(|it| !it.optional);
    let args = required.map(|it| match &it.kind {
        Kind::Any | Kind::Special => atom.to_owned(),
        Kind::Values => format!("[{atom}, {atom}]"),
        Kind::Int => "1".to_owned(),
        Kind::Float => "0.5".to_owned(),
        Kind::Bool => "true".to_owned(),
        Kind::Text => "'1'".to_owned(),
        Kind::Bytes => "encode_png(plasma(i, 5, 6))".to_owned(),
        Kind::Untyped => "parse_json('1')".to_owned(),
        Kind::Numbers if ["mean", "std"].contains(&it.name.as_str()) => "0.5".to_owned(),
        Kind::Numbers if callee.name == "reshape" => "[-1]".to_owned(),
        Kind::Numbers => "[2, 3]".to_owned(),
        Kind::Interval => "0.5..1.0".to_owned(),
        Kind::Words(words) => words[0].clone(),
        Kind::Tensor(_, extents) if extents.len() == 3 => "plasma(i, 5, 6)".to_owned(),
        Kind::Tensor(dtype, extents) => {
            let extents: Vec<String> =
                extents.iter().map(|it| it.unwrap_or(2).to_string()).collect();
            let dtype = dtype.map_or("i64", |it| it.name());
            format!("{dtype}(full([{}], 1))", extents.join(", "))
        }
    });
    format!("{}({})", callee.name, args.collect::<Vec<_>>().join(", "))
}

struct Probe<'a>(&'a Files);

impl Inputs for Probe<'_> {
    fn fields(&self, source: &str, args: &[Arg]) -> Result<Vec<Field>, InputError> {
        driver::probe(source, args, None).map(|it| it.0)
    }

    fn file(&self, path: &str) -> Result<Option<File>, InputError> {
        self.0.read(path)
    }

    fn file_if_there(&self, path: &str) -> Result<Option<File>, InputError> {
        self.0.read_if_there(path)
    }
}
