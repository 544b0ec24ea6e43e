" Vim syntax file: the pipelines that pipec compiles. Made from editor/templates/pipe.vim.
if exists('b:current_syntax')
  finish
endif

syn case match
syn iskeyword @,48-57,_

syn match pipeName /\<[A-Za-z_]\w*\>/
syn match pipeCall /\<[A-Za-z_]\w*\>\ze\s*(/
syn match pipeStage /\(|>\s*\)\@<=\<[A-Za-z_]\w*\>/
syn match pipeFunction /\<\(@functions_pattern@\)\>\ze\s*(/
syn match pipeOperator /\(|>\s*\)\@<=\<\(@operators_pattern@\)\>/
syn match pipeSource /\<\(@sources_pattern@\)\>\ze\s*(/
syn match pipeType /\<\(@dtypes_pattern@\)\>\ze\s*\[/
syn match pipeType /\(\<as\s\+\|->\s*\)\@<=\<[A-Za-z_]\w*\>/
syn match pipeField /\<[A-Za-z_]\w*\>\ze\s*:/
syn keyword pipeKeyword @reserved@
syn match pipePolicy /\(\<else\s\+\)\@<=\<\(@policies_pattern@\)\>/
syn match pipeDefinition /\(\<\(param\|const\|fn\|pipeline\)\s\+\)\@<=\<[A-Za-z_]\w*\>/
syn keyword pipeBoolean true false
syn match pipeNumber /\<\d\(_\?\d\)*\(\.\d\(_\?\d\)*\)\?\([eE][+-]\?\d\+\)\?\(@units_pattern@\)\?\>/
syn region pipeText start=/"/ skip=/\\./ end=/"\|$/ contains=pipeHole,pipeEscape oneline
syn region pipeText start=/'/ end=/'\|$/ oneline
syn match pipeHole /{[A-Za-z_]\w*}/ contained
syn match pipeEscape /\\\(["\\nt]\|u{\x\{1,6}}\)/ contained
syn match pipeSign /|>\|->\|\.\.\|[-+*\/%=<>!?|]/
syn match pipeComment /#.*$/
syn match pipeDoc /##\(#\)\@!.*$/

hi def link pipeKeyword Keyword
hi def link pipePolicy Keyword
hi def link pipeDefinition Identifier
hi def link pipeCall Function
hi def link pipeStage Function
hi def link pipeFunction Function
hi def link pipeOperator Function
hi def link pipeSource Function
hi def link pipeField Label
hi def link pipeType Type
hi def link pipeNumber Number
hi def link pipeBoolean Boolean
hi def link pipeText String
hi def link pipeHole Special
hi def link pipeEscape SpecialChar
hi def link pipeSign Operator
hi def link pipeComment Comment
hi def link pipeDoc SpecialComment

let b:current_syntax = 'pipe'
