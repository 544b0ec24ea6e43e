//! A page as a tree: `html5ever` parses it as the standard says, and stops where the tree gets too large.

use super::Excess;
use dom_query::{Document, NodeId};
use html5ever::{
    Attribute, QualName,
    interface::TokenizerResult,
    tendril::StrTendril,
    tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
    tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilder, TreeBuilderOpts, TreeSink},
};
use std::{borrow::Cow, cell::Cell};

/// The tree of a page.
///
/// # Errors
/// It is too large or too deep.
pub(super) fn of(page: &str) -> Result<Document, Excess> {
    // As where scripts run: what stands in their place (`noscript`) is one text, whatever its tags are.
    let options = TreeBuilderOpts { scripting_enabled: true, ..TreeBuilderOpts::default() };
    let guard = Guard { tree: TreeBuilder::new(Bounded::default(), options) };
    let tokenizer = Tokenizer::new(guard, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    // It stops at scripts, and where a page says its encoding.
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    let sink = tokenizer.sink.tree.sink;
    match sink.excess.get() {
        Some(excess) => Err(excess),
        None => Ok(sink.document),
    }
}

/// Hands tokens on, until the tree gets too large: a single one can make it much larger.
struct Guard {
    tree: TreeBuilder<NodeId, Bounded>,
}

impl TokenSink for Guard {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        match self.tree.sink.excess.get() {
            Some(_) => TokenSinkResult::Continue,
            None => self.tree.process_token(token, line),
        }
    }

    fn end(&self) {
        self.tree.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.tree.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// A document that counts.
#[derive(Default)]
struct Bounded {
    document: Document,
    excess: Cell<Option<Excess>>,
}

impl Bounded {
    fn count(&self) {
        if self.document.tree.len() > Excess::NODES_MAX {
            self.excess.set(Some(Excess::Nodes));
        }
    }

    /// Looks how deep a child would be. Subtrees are moved, so its parents are counted.
    fn measure(&self, parent: &NodeId, child: &NodeOrText<NodeId>) {
        let tree = &self.document.tree;
        let is_node = matches!(child, NodeOrText::AppendNode(_));
        if is_node && tree.ancestor_ids_of_it(parent, None).count() > Excess::DEPTH_MAX {
            self.excess.set(Some(Excess::Depth));
        }
        self.count();
    }
}

impl TreeSink for Bounded {
    type Handle = NodeId;
    type Output = Self;
    type ElemName<'a> = <Document as TreeSink>::ElemName<'a>;

    fn finish(self) -> Self {
        self
    }

    /// Nobody asks what is wrong with a page.
    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        self.document.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Self::ElemName<'a> {
        self.document.elem_name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        self.count();
        self.document.create_element(name, attrs, flags)
    }

    fn create_comment(&self, _: StrTendril) -> NodeId {
        self.count();
        self.document.create_comment(StrTendril::new())
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeId {
        self.count();
        self.document.create_pi(StrTendril::new(), StrTendril::new())
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.measure(parent, &child);
        self.document.append(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        previous: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        self.measure(element, &child);
        self.document.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.document.get_template_contents(target)
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        self.document.same_node(x, y)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.measure(sibling, &child);
        self.document.append_before_sibling(sibling, child);
    }

    /// Of a second `<html>` or `<body>`: a page could have millions of them, and each would be compared with all
    /// before.
    fn add_attrs_if_missing(&self, _: &NodeId, _: Vec<Attribute>) {}

    fn remove_from_parent(&self, target: &NodeId) {
        self.document.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        self.document.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &NodeId) -> bool {
        self.document.is_mathml_annotation_xml_integration_point(handle)
    }
}
