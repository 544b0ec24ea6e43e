; What each node is, for colours.

(comment) @comment
(doc) @comment.documentation

(declared) @function
(called) @function.call
(parameter) @variable.parameter
(field_name) @property
(name) @variable
(type_name) @type

(number) @number
(unit) @number
(truth) @boolean
(literal) @string
(string) @string
(hole) @string.special
(escape) @string.escape

[
  "edition" "param" "const" "fn" "extern" "pipeline" "use"
  "map" "flat_map" "with" "where"
  "if" "then" "else" "and" "or" "not" "in" "as" "for"
] @keyword
(import "from" @keyword)
(effect) @keyword
(each_mark) @keyword
(policy ["skip" "another" "fail"] @keyword)

["|>" "->" "=" "==" "!=" "<" "<=" ">" ">=" "+" "-" "*" "/" "//" "%" "**" ".." "|" "?"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" "."] @punctuation.delimiter
