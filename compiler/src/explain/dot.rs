//! The plan as a graph for Graphviz, in its language DOT (graphviz.org, "The DOT Language").

use super::{
    Explanation,
    drawing::{Edge, Node, edges, is_bound_by_consumer, nodes},
    long,
};
use std::fmt::Write;

/// The graph, from left to right.
pub(super) fn dot(explanation: &Explanation) -> String {
    let mut dot = format!("digraph {} {{\n", quoted(&explanation.pipeline));
    dot.push_str("  rankdir=LR;\n  labelloc=t;\n  fontname=\"sans-serif\";\n");
    let _ = writeln!(
        dot,
        "  label={};",
        quoted(long::verdict(explanation).lines().next().unwrap_or_default())
    );
    dot.push_str("  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n");
    dot.push_str("  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for it in nodes(explanation) {
        let _ = writeln!(dot, "  s{} [{}];", it.at(), node(&it));
    }
    let mut consumer = "label=\"consumer\", shape=plaintext".to_owned();
    if is_bound_by_consumer(explanation) {
        consumer = "label=\"consumer\", color=red, penwidth=3".to_owned();
    }
    let _ = writeln!(dot, "  consumer [{consumer}];");
    edges(explanation).iter().for_each(|it| dot.push_str(&edge(it)));
    dot.push_str("}\n");
    dot
}

fn node(node: &Node<'_>) -> String {
    let mut text = format!("label={}", quoted(&node.facts.join("\n")));
    if node.is_source() {
        text.push_str(", shape=diamond");
    }
    if node.is_idle() {
        text.push_str(", style=filled, fillcolor=gray90, fontcolor=gray40");
    }
    if node.is_bottleneck {
        text.push_str(", color=red, penwidth=3");
    }
    text
}

fn edge(edge: &Edge) -> String {
    let to = edge.to.map_or("consumer".to_owned(), |it| format!("s{it}"));
    let label = edge.label().replace(", ", "\n");
    format!("  s{} -> {to} [label={}];\n", edge.from, quoted(&label))
}

/// A string as DOT writes it. `\` is doubled too: in a label `\N` would be the node's name.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn any_name_is_a_string() {
        assert_eq!(quoted("a\"b\\N\nc\u{7}"), "\"a\\\"b\\\\N\\nc \"");
    }
}
