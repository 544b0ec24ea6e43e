// Colours the pipelines on the site, with mdBook's highlight.js. Made from editor/templates/pipe.js.
(function () {
  const name = "[A-Za-z_]\\w*";
  const interpolated = { className: "subst", begin: "\\{" + name + "\\}" };
  const escaped = { className: "symbol", begin: /\\(["\\nt]|u\{[0-9A-Fa-f]{1,6}\})/ };
  const pipe = {
    name: "pipe",
    keywords: {
      $pattern: name,
      keyword: "@reserved@".split("|").join(" "),
      literal: "true false",
    },
    contains: [
      { className: "comment", begin: "#", end: "$" },
      { className: "string", begin: '"', end: '"|$', contains: [escaped, interpolated] },
      { className: "string", begin: "'", end: "'|$" },
      { className: "keyword", begin: "\\belse\\s+(@policies@)\\b" },
      { className: "number", begin: "\\b\\d(_?\\d)*(\\.\\d(_?\\d)*)?([eE][+-]?\\d+)?(@units@)?\\b" },
      { className: "built_in", begin: "\\b(@calls@)\\b(?=\\s*\\()" },
      { begin: "\\|>\\s*", contains: [{ className: "built_in", begin: "\\b(@calls@)\\b" }] },
      { className: "type", begin: "\\b(@dtypes@)\\b(?=\\s*\\[)" },
      { className: "attr", begin: name + "(?=\\s*:)" },
    ],
  };
  hljs.registerLanguage("pipe", () => pipe);
  document.querySelectorAll("code.language-pipe").forEach((block) => {
    // Without what was guessed before the language was known.
    block.textContent = block.textContent;
    hljs.highlightBlock(block);
  });
})();
