// The grammar of `.pipe` files, edition 2026, after `compiler/src/grammar.pest`: the same layers, so that
// it reads what the compiler reads and nothing else. `editor/check` holds them against each other.

/// <reference types="tree-sitter-cli/dsl" />

// Some of `rule` with commas between, and perhaps one behind.
const list = (rule) => seq(rule, repeat(seq(',', rule)), optional(','));
const lists = (rule) => optional(list(rule));

// Words of the language in their places, and names elsewhere.
const CONTEXTUAL = ['random', 'fails', 'reads', 'pure', 'from', 'each', 'skip', 'another', 'fail'];

module.exports = grammar({
  name: 'pipe',

  word: ($) => $.word,

  extras: ($) => [/[ \t\r\n]/, $.comment],

  // Words that no name can be.
  reserved: {
    global: () => [
      'param', 'const', 'fn', 'extern', 'pipeline', 'use', 'edition',
      'map', 'flat_map', 'with', 'where', 'if', 'then', 'else', 'and', 'or', 'not', 'in', 'as', 'for',
      'true', 'false',
    ],
  },

  rules: {
    file: ($) => seq(optional($.edition), repeat($._declaration)),

    edition: ($) => seq('edition', field('year', choice(alias($._year, $.number), $.name))),
    _year: () => /[0-9][A-Za-z0-9_]*/,

    _declaration: ($) =>
      seq(
        repeat($.doc),
        choice($.param, $.constant, $.function, $.foreign, $.pipeline, $.import),
      ),

    param: ($) =>
      seq(
        'param',
        field('name', $._declared),
        optional(seq(':', field('type', $._type))),
        optional(seq('=', field('value', $._expr))),
      ),
    constant: ($) => seq('const', field('name', $._declared), '=', field('value', $._expr)),
    function: ($) =>
      seq(
        'fn',
        field('name', $._declared),
        field('formals', $.formals),
        repeat($.effect),
        optional($._result),
        '=',
        field('body', $._expr),
      ),
    foreign: ($) =>
      seq(
        'extern',
        choice(
          seq('fn', field('name', $._declared), field('formals', $.formals), repeat($.effect)),
          seq('pipeline', field('name', $._declared), field('formals', $.formals)),
        ),
        $._result,
        '=',
        field('target', $._text),
      ),
    pipeline: ($) =>
      seq(
        'pipeline',
        field('name', $._declared),
        optional(field('formals', $.formals)),
        '=',
        field('body', $._expr),
      ),
    import: ($) =>
      seq(
        'use',
        field('name', $._declared),
        repeat(seq(',', field('name', $._declared))),
        'from',
        $._text,
      ),

    formals: ($) => seq('(', lists($.formal), ')'),
    formal: ($) =>
      seq(
        field('name', alias($.name, $.parameter)),
        optional(seq(':', optional(alias('each', $.each_mark)), field('type', $._type), optional('?'))),
        optional(seq('=', field('default', $._expr))),
      ),
    effect: () => choice('random', 'fails', 'reads', 'pure'),
    _result: ($) => seq('->', field('result', $._type)),
    _text: ($) => choice($.string, $.literal),

    // ---- values and streams
    _expr: ($) => choice($._value, $.pipe, $.otherwise),
    pipe: ($) => seq(field('from', $._expr), '|>', field('stage', $._stage)),
    _stage: ($) => choice($.each, $.call, alias($._bare_call, $.call)),
    _bare_call: ($) => field('function', alias($.name, $.called)),
    each: ($) => seq(field('kind', choice('map', 'flat_map', 'with', 'where')), field('body', $._value)),
    otherwise: ($) => seq(field('from', $._expr), 'else', field('instead', choice($.policy, $._value))),
    // A policy before a name, as the compiler reads it.
    policy: ($) => prec(1, seq(choice('skip', 'another', 'fail'), optional($.arguments))),

    _value: ($) => prec.right(1, choice($._both, $.or)),
    or: ($) => prec.right(1, seq($._value, 'or', $._both)),
    _both: ($) => prec.right(2, choice($._negated, $.and)),
    and: ($) => prec.right(2, seq($._both, 'and', $._negated)),
    _negated: ($) => prec.right(3, choice($._compared, $.not)),
    not: ($) => prec.right(3, seq('not', $._negated)),
    // One only: `a < b < c` is a mistake.
    _compared: ($) => prec.right(4, choice($._interval, $.comparison, $.among)),
    comparison: ($) => prec.right(4, seq($._interval, choice('==', '!=', '<=', '>=', '<', '>'), $._interval)),
    among: ($) => prec.right(4, seq($._interval, optional('not'), 'in', $._interval)),
    _interval: ($) => prec.right(5, choice($._sum, $.interval)),
    interval: ($) => prec.right(5, seq($._sum, '..', $._sum)),
    _sum: ($) => prec.right(6, choice($._product, $.sum)),
    sum: ($) => prec.right(6, seq($._sum, choice('+', '-'), $._product)),
    _product: ($) => prec.right(7, choice($._signed, $.product)),
    product: ($) => prec.right(7, seq($._product, choice('*', '//', '/', '%'), $._signed)),
    _signed: ($) => prec.right(8, choice($._power, $.minus)),
    minus: ($) => prec.right(8, seq('-', $._signed)),
    _power: ($) => prec.right(9, choice($._claimed, $.power)),
    power: ($) => prec.right(9, seq($._claimed, '**', $._signed)),
    _claimed: ($) => prec.right(10, choice($._postfix, $.claim)),
    claim: ($) => prec.right(10, seq($._postfix, 'as', field('type', $._type))),
    _postfix: ($) => prec.right(11, choice($._atom, $.index, $.field)),
    index: ($) => prec.right(11, seq($._postfix, '[', list($._place), ']')),
    _place: ($) => choice($._expr, $.slice),
    slice: ($) => seq(optional($._expr), ':', optional($._expr)),
    field: ($) => prec.right(11, seq($._postfix, '.', field('field', alias($.name, $.field_name)))),

    _atom: ($) =>
      choice(
        $.choice,
        $.quantity,
        $.string,
        $.literal,
        $.truth,
        $.list,
        $.record,
        $.inner,
        $.call,
        $.name,
      ),
    inner: ($) => seq('(', $._expr, ')'),
    choice: ($) => prec.right(seq('if', $._value, 'then', $._value, 'else', $._value)),
    call: ($) => seq(field('function', alias($.name, $.called)), field('arguments', $.arguments)),
    arguments: ($) => seq('(', lists($._argument), ')'),
    _argument: ($) => choice($._expr, $.argument),
    argument: ($) => seq(field('name', alias($.name, $.parameter)), ':', field('value', $._expr)),
    record: ($) => seq('{', lists($.entry), '}'),
    entry: ($) =>
      choice(
        seq(field('name', alias($.name, $.field_name)), ':', field('value', $._expr)),
        field('name', $.name),
      ),
    list: ($) => seq('[', optional(choice(list($._expr), seq($._expr, $.each_of))), ']'),
    each_of: ($) => seq('for', field('name', $.name), 'in', $._value),

    // ---- types
    _type: ($) => choice($.record_type, $.words, $.tensor_type),
    words: ($) => prec.right(seq($._type_name, repeat1(seq('|', $._type_name)))),
    tensor_type: ($) => prec.right(seq($._type_name, optional(seq('[', list($._extent), ']')))),
    _type_name: ($) => alias($.name, $.type_name),
    _extent: ($) => choice('?', prec(1, alias($.name, $.type_name)), $._sum),
    record_type: ($) => seq('{', lists($.typed), optional('..'), '}'),
    typed: ($) => seq(field('name', alias($.name, $.field_name)), ':', $._type),

    // ---- words
    _declared: ($) => alias($.name, $.declared),
    name: ($) => choice($.word, ...CONTEXTUAL),
    word: () => /[A-Za-z_][A-Za-z0-9_]*/,
    // Any word may follow a number: one that is no unit has a message of its own.
    quantity: ($) => seq($.number, optional(alias(token.immediate(/[A-Za-z_][A-Za-z0-9_]*/), $.unit))),
    number: () => /[0-9](_?[0-9])*(\.[0-9](_?[0-9])*)?([eE][+-]?[0-9]+)?/,
    truth: () => choice('true', 'false'),

    // `{name}` is filled in, `{{name}` is `{name}`; any other brace is itself.
    string: ($) => seq('"', repeat(choice($.hole, $.escape, $._brace, $._chunk)), token.immediate('"')),
    hole: () => token.immediate(prec(2, /\{[A-Za-z_][A-Za-z0-9_]*\}/)),
    _brace: () => token.immediate(prec(1, /\{\{[A-Za-z_][A-Za-z0-9_]*\}/)),
    escape: () => token.immediate(/\\("|\\|n|t|u\{[0-9A-Fa-f]{1,6}\})/),
    _chunk: () => token.immediate(/[^"\\\n{]+|\{/),
    literal: () => /'[^'\n]*'/,

    doc: () => token(/##([^#\n][^\n]*)?/),
    comment: () => token(choice(/#([^#\n][^\n]*)?/, /###[^\n]*/)),
  },
});
