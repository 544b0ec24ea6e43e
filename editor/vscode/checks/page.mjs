// A page with the examples in colours: by the engine that VS Code uses, in a light and a dark theme, and
// by tree-sitter in the same.
//
// node checks/page.mjs CORPUS.json COLOURS.json OUT.html

import { readFileSync, writeFileSync } from 'node:fs';
import { tokenise } from './engine.mjs';

const THEMES = {
  light: {
    page: ['#ffffff', '#24292f'], keyword: '#8250df', definition: '#953800', call: '#0550ae', member: '#116329',
    parameter: '#6639ba', type: '#9a6700', number: '#cf222e', string: '#0a7a4b', hole: '#b35900',
    comment: '#6e7781', doc: '#57606a', sign: '#57606a',
  },
  dark: {
    page: ['#0d1117', '#e6edf3'], keyword: '#d2a8ff', definition: '#ffa657', call: '#79c0ff', member: '#7ee787',
    parameter: '#bc8cff', type: '#e3b341', number: '#ff7b72', string: '#a5d6a7', hole: '#ffab70',
    comment: '#8b949e', doc: '#a9b4c0', sign: '#9aa4b0',
  },
};

// What a scope or a capture is coloured as; the first that it begins with.
const COLOURS = [
  ['comment.line.documentation', 'doc'], ['comment.documentation', 'doc'], ['comment', 'comment'],
  ['variable.other.hole', 'hole'], ['string.special', 'hole'], ['constant.character.escape', 'hole'],
  ['string.escape', 'hole'], ['string', 'string'], ['constant.numeric', 'number'], ['number', 'number'],
  ['constant.language', 'keyword'], ['boolean', 'keyword'], ['keyword.operator', 'sign'], ['keyword', 'keyword'],
  ['operator', 'sign'], ['punctuation', 'sign'], ['variable.parameter', 'parameter'],
  ['variable.other.member', 'member'], ['property', 'member'], ['variable.other.constant', 'definition'],
  ['entity.name.function.call', 'call'], ['function.call', 'call'], ['entity.name.function', 'definition'],
  ['function', 'definition'], ['entity.name.type', 'type'], ['support.type', 'type'], ['type', 'type'],
  ['support.function', 'call'],
];

const colourOf = (scope, theme) => {
  const found = COLOURS.find(([head]) => scope === head || scope.startsWith(`${head}.`))?.[1];
  return found && THEMES[theme][found];
};
const escaped = (text) => text.replace(/[&<>]/g, (it) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[it]);

// The runs of a text as HTML: bytes and the scope of each.
function code(text, runs, theme) {
  const bytes = Buffer.from(text);
  const spans = runs.map(([start, end, scope]) => {
    const part = escaped(bytes.subarray(start, end).toString());
    const colour = colourOf(scope, theme);
    return colour ? `<span style="color:${colour}">${part}</span>` : part;
  });
  return spans.join('');
}

// With what stands between tokens, which has no scope of its own.
function whole(length, runs) {
  const all = [];
  let at = 0;
  for (const [start, end, scope] of runs) {
    if (start > at) all.push([at, start, '']);
    all.push([start, end, scope]);
    at = end;
  }
  if (at < length) all.push([at, length, '']);
  return all;
}

const [corpus, colours, out] = process.argv.slice(2);
const texts = JSON.parse(readFileSync(corpus, 'utf8')).filter((it) => it.name.startsWith('examples/') && !it.damaged);
const captured = new Map(JSON.parse(readFileSync(colours, 'utf8')).map((it) => [it.name, it.runs]));
const sections = [];
for (const { name, text } of texts) {
  const length = Buffer.byteLength(text);
  const tokens = (await tokenise(text)).map((it) => [it.start, it.end, it.scopes.at(-1)]);
  const engines = [['TextMate, the engine of VS Code', whole(length, tokens)], ['tree-sitter', captured.get(name)]];
  const panes = Object.keys(THEMES).flatMap((theme) =>
    engines.map(([engine, runs]) => {
      const [back, front] = THEMES[theme].page;
      return `<figure style="background:${back};color:${front}"><figcaption>${engine}, ${theme}</figcaption><pre>${code(text, runs, theme)}</pre></figure>`;
    }),
  );
  sections.push(`<h2>${escaped(name)}</h2><div>${panes.join('')}</div>`);
}
const style =
  'body{font:14px system-ui;margin:1em}div{display:grid;grid-template-columns:1fr 1fr;gap:1em}' +
  'figure{margin:0;padding:1em;border:1px solid #8888;overflow:auto}figcaption{opacity:.7}pre{font-size:12px;line-height:1.45}';
writeFileSync(out, `<!doctype html><meta charset="utf-8"><title>pipec in colours</title><style>${style}</style>${sections.join('')}`);
