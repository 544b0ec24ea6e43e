// Holds the TextMate grammar against the compiler: reads each text of a corpus with the engine that VS
// Code uses, and compares the scope of each word with what the compiler says that it is.
//
// node checks/textmate.mjs CORPUS.json

import { readFileSync } from 'node:fs';
import { tokenise } from './engine.mjs';

const SHOWN = 20;

// What a scope stands for; the first that a scope begins with.
const KINDS = [
  ['comment.line.documentation', 'Doc'],
  ['comment', 'Comment'],
  ['variable.other.hole', 'Hole'],
  ['constant.character.escape', 'Text'],
  ['string', 'Text'],
  ['constant.numeric', 'Number'],
  ['constant.language', 'Keyword'],
  ['keyword.control', 'Keyword'],
  ['keyword.operator', 'Sign'],
  ['punctuation', 'Sign'],
  ['variable.parameter', 'Argument'],
  ['variable.other.member', 'Field'],
  ['variable.other.constant', 'Definition'],
  ['entity.name.function.call', 'Call'],
  ['entity.name.function', 'Definition'],
  ['entity.name.type', 'Type'],
  ['support.type', 'Type'],
  ['support.function', 'Call'],
  ['variable.other', 'Name'],
  ['invalid', 'Unknown'],
];

const kindOf = (scopes) => {
  const scope = scopes.at(-1);
  return KINDS.find(([head]) => scope.startsWith(head))?.[1] ?? scope;
};

const corpus = JSON.parse(readFileSync(process.argv[2], 'utf8'));
let words = 0;
let texts = 0;
let loose = { words: 0, wrong: 0 };
const wrong = [];
for (const it of corpus) {
  const bytes = Buffer.from(it.text);
  const kinds = new Array(bytes.length);
  for (const { start, end, scopes } of await tokenise(it.text)) {
    kinds.fill(kindOf(scopes), start, end);
  }
  // A text that the compiler cannot read may close brackets that it has not opened: where that is so,
  // the grammar of an editor, which has no way back, may see another place.
  const strict = it.read;
  if (strict) texts += 1;
  for (const [kind, start, end] of it.words) {
    const found = new Set(kinds.slice(start, end));
    const fits = found.size === 1 && found.has(kind);
    if (!strict) {
      loose.words += 1;
      loose.wrong += fits ? 0 : 1;
      continue;
    }
    words += 1;
    if (!fits) {
      const line = bytes.subarray(0, start).toString().split('\n').length;
      const text = bytes.subarray(start, end).toString();
      wrong.push(`${it.name}: \`${text}\` in line ${line} is ${kind}, and here ${[...found].join(' ')}`);
    }
  }
}
const share = ((100 * loose.wrong) / Math.max(loose.words, 1)).toFixed(2);
console.log(
  `TextMate: ${corpus.length} texts, ${texts} of them read, ${words} words of these; ` +
    `of ${loose.words} words of broken ones ${share} % differ`,
);
// Broken texts may differ a little; a grammar that has lost its way differs in most of them.
if (loose.wrong > loose.words * 0.02) wrong.push(`${share} % of the words of broken texts differ`);
if (wrong.length > 0) {
  console.error(wrong.slice(0, SHOWN).join('\n'));
  console.error(`${wrong.length} differences`);
  process.exit(1);
}
