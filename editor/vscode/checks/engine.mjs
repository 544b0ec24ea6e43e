// The engine that VS Code uses, with the grammar of this extension.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const oniguruma = require('vscode-oniguruma');
const { INITIAL, Registry, parseRawGrammar } = require('vscode-textmate');

const here = dirname(fileURLToPath(import.meta.url));
const path = join(here, '../syntaxes/pipe.tmLanguage.json');
const wasm = readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
const engine = oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length)).then(() => ({
  createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
  createOnigString: (text) => new oniguruma.OnigString(text),
}));

export const registry = new Registry({
  onigLib: engine,
  loadGrammar: async () => parseRawGrammar(readFileSync(path, 'utf8'), path),
});

// The tokens of a text: the bytes that each stands at, and its scopes, the innermost last.
export async function tokenise(text) {
  const grammar = await registry.loadGrammar('source.pipe');
  const tokens = [];
  let state = INITIAL;
  let base = 0;
  for (const line of text.split('\n')) {
    const result = grammar.tokenizeLine(line, state);
    const byte = (units) => base + Buffer.byteLength(line.slice(0, units));
    for (const { startIndex, endIndex, scopes } of result.tokens) {
      tokens.push({ start: byte(startIndex), end: byte(Math.min(endIndex, line.length)), scopes });
    }
    state = result.ruleStack;
    base += Buffer.byteLength(line) + 1;
  }
  return tokens;
}
