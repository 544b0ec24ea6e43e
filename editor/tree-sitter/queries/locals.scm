; Which names mean which: a definition is a scope for its parameters, `for` for its element.

(file) @local.scope
(function) @local.scope
(foreign) @local.scope
(pipeline) @local.scope
(list (each_of)) @local.scope

(declared) @local.definition
(formal name: (parameter) @local.definition)
(each_of name: (name) @local.definition)

(name) @local.reference
(called) @local.reference
