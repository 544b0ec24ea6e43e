//! A text, read and checked: all that is known of it at once, without looking at its inputs.

use crate::{
    again::Moved,
    names::{Names, resolve},
    text::Text,
    world::{Seen, World},
};
use compiler::{Found, Notes, Request, ast, syntax::Kept};
use driver::{Loaded, Unshown};
use plan::{Diagnostic, FileId, Span};
use std::{collections::BTreeMap, path::Path};

/// What is known of a text.
pub(crate) struct Analysis {
    pub(crate) loaded: Loaded,
    pub(crate) notes: Notes,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) names: Names,
}

/// Reads and checks a text that is at `path`, or will be. What was found out of the text `before` it is
/// not found out again; `kept` is what was read of it.
pub(crate) fn analyse(
    path: &Path,
    text: &str,
    world: &World,
    (kept, before): (&mut Kept, Option<&Analysis>),
) -> Analysis {
    let mut read = |it: &Path| world.read(it);
    let loaded = Loaded::from_text_with((path, world.reach), text.to_owned(), &mut read, kept);
    let moved = Moved::new(&loaded, before);
    let only = |it: &ast::Declaration| moved.is_new(it);
    let params = BTreeMap::new();
    let unshown = Unshown::of(&loaded, &params, world.reach);
    // What stands behind a cursor is still what the program says.
    let unshown = unshown.map(|it| it.and_of(before.map(|it| &it.loaded)));
    let request = Request {
        files: &loaded.trees,
        imports: &loaded.imports,
        pipeline: None,
        params: &params,
        needs_params: false,
        inputs: &Seen { probes: &world.probes, unshown: unshown.as_ref() },
        only: before.map(|_| &only as &dyn Fn(&ast::Declaration) -> bool),
        asked_only: false,
    };
    let (checked, mut notes) = compiler::check_noted(&request, &world.registry);
    let found = match &unshown {
        Some(unshown) => unshown.told(checked.diagnostics),
        None => checked.diagnostics,
    };
    let mut diagnostics: Vec<Diagnostic> =
        loaded.diagnostics.iter().cloned().chain(found).collect();
    if let Some(before) = before {
        moved.carry(before, &mut notes, &mut diagnostics);
        diagnostics.sort_by_key(|it| (it.span.file, it.span.start, it.span.end));
    }
    let names = resolve(&loaded, &notes);
    Analysis { loaded, notes, diagnostics, names }
}

impl Analysis {
    /// The tree of the text itself.
    pub(crate) fn tree(&self) -> &ast::File {
        &self.loaded.trees[0]
    }

    /// What the smallest expression at a byte is, of those of which something is known.
    pub(crate) fn found_at(&self, byte: u32) -> Option<(Span, &Found)> {
        let at = self.notes.types.iter().filter(|it| holds(*it.0, byte) && *it.1 != Found::Broken);
        at.min_by_key(|it| (it.0.len(), it.0.start)).map(|(span, it)| (*span, it))
    }

    /// The fields that are in scope at a byte.
    pub(crate) fn fields_at(&self, byte: u32) -> &[(String, String)] {
        let at = self.notes.scopes.iter().filter(|it| holds(*it.0, byte));
        at.min_by_key(|it| it.0.len()).map_or(&[], |it| it.1.as_slice())
    }

    /// The declaration that a byte stands in, and its docs.
    pub(crate) fn declaration_at(&self, byte: u32) -> Option<&ast::Declaration> {
        self.tree().declarations.iter().find(|it| holds(it.span, byte))
    }

    /// The declaration whose name stands at `at`, in any file, and the text of that file.
    pub(crate) fn declaration_named(&self, at: Span) -> Option<(&ast::Declaration, &str)> {
        let file = usize::from(at.file.0);
        let named = |it: &&ast::Declaration| it.name().is_some_and(|it| it.span == at);
        let found = self.loaded.trees.get(file)?.declarations.iter().find(named)?;
        Some((found, self.loaded.files.get(file)?.text.as_str()))
    }

    /// Where a message is shown in the text: at the `use` of the file that it is about.
    pub(crate) fn shown_at(&self, span: Span) -> Span {
        if span.file == FileId::default() {
            return span;
        }
        let uses = self.loaded.imports.iter();
        let mut own = uses.filter(|it| it.0.file == FileId::default());
        let found = own.find(|it| *it.1 == span.file).or_else(|| own.next());
        found.map_or(Span::default(), |it| *it.0)
    }

    /// A text as an editor counts it, of any file of the program.
    pub(crate) fn text_of(&self, file: FileId) -> Option<Text> {
        self.loaded.files.get(usize::from(file.0)).map(|it| Text::new(it.text.clone()))
    }
}

/// Whether a byte is within a stretch, or just behind it.
pub(crate) fn holds(span: Span, byte: u32) -> bool {
    span.file == FileId::default() && span.start <= byte && byte <= span.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use driver::Reach;
    use proptest::prelude::*;

    const PROGRAM: &str = "const N = 3
## One.
fn double(x) = x * 2
fn quadruple(x) = double(double(x))
pipeline numbers = range(N) |> map { y: quadruple(f32(i)) }
pipeline others = numbers |> where y > 1.0 |> batch(2)
pipeline third = range(9) |> with { z: i + N } |> batch(3)
";

    /// Messages, and the types of expressions that are known: where, and what.
    fn told(of: &Analysis) -> [Vec<(Span, String)>; 2] {
        let said = of.diagnostics.iter().map(|it| (it.span, it.code.id.to_owned()));
        let known = of.notes.types.iter().filter(|it| *it.1 != Found::Broken);
        let mut all = [said.collect::<Vec<_>>(), known.map(|(at, it)| (*at, it.text())).collect()];
        all.iter_mut().for_each(|it| it.sort());
        all
    }

    /// Holds a text that is edited step by step against the same text at once.
    fn agrees(edits: &[(usize, usize, &str)]) -> Result<(), TestCaseError> {
        let (world, path) = (World::new(Reach::Project), Path::new("edited.pipe"));
        let (mut text, mut kept) = (PROGRAM.to_owned(), Kept::default());
        let mut known = analyse(path, &text, &world, (&mut kept, None));
        for (at, len, new) in edits {
            let start = (*at).min(text.len());
            let end = (start + len).min(text.len());
            text.replace_range(start..end, new);
            known = analyse(path, &text, &world, (&mut kept, Some(&known)));
            let fresh = analyse(path, &text, &world, (&mut Kept::default(), None));
            let (a, b) = (told(&known), told(&fresh));
            prop_assert_eq!(&a[0], &b[0], "{}", text);
            for it in &b[1] {
                prop_assert!(a[1].contains(it), "{:?} in:\n{}", it, text);
            }
            prop_assert_eq!(&known.loaded.trees, &fresh.loaded.trees);
        }
        Ok(())
    }

    /// What lacks its first word is mended, so that its name stands in no text as it is.
    #[test]
    fn a_mended_declaration_changes_those_that_name_it() {
        agrees(&[(0, 4, "(i)"), (3, 2, "fn h(x) = x\n")]).unwrap();
    }

    /// What is missing at the end of a declaration is missing at the first byte of the next one.
    #[test]
    fn a_message_between_two_declarations_does_not_move_with_the_second() {
        agrees(&[(34, 2, "fn h(x) = x\n"), (20, 1, "")]).unwrap();
    }

    /// What is known within a function is known of its first call.
    #[test]
    fn another_call_of_a_function_does_not_change_what_is_known_of_it() {
        agrees(&[(209, 5, "double")]).unwrap();
    }

    proptest! {
        /// What is found out of a text that was edited is what is found out of it at once.
        #[test]
        fn an_edited_text_is_known_as_a_new_one(edits in proptest::collection::vec(
            (0usize..260, 0usize..6, prop_oneof![
                Just(""), Just(" "), Just("\n"), Just("x"), Just("2"), Just("(i)"), Just("double"),
                Just("}"), Just("|> "), Just("N"), Just("fn h(x) = x\n"), Just("# c\n"),
            ]), 1..8,
        )) {
            agrees(&edits)?;
        }
    }
}
