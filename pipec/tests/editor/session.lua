-- A person's session in Neovim: opens a broken file, reads what is wrong, takes the fix, formats, hovers,
-- completes. Ends with an error where something is not as it should be.

local function fail(what)
  io.stderr:write('session: ' .. what .. '\n')
  vim.cmd('cquit 1')
end

local function expect(truth, what)
  if not truth then
    fail(what)
  end
end

local function wait(what, ready)
  expect(vim.wait(30000, ready, 20), 'no ' .. what)
end

local pipec = dofile(vim.env.PIPEC_NVIM)
pipec.command = { vim.env.PIPEC, 'lsp' }
vim.cmd('edit ' .. vim.env.PIPEC_FILE)
vim.bo.filetype = 'pipe'
local buffer = vim.api.nvim_get_current_buf()
local client = pipec.start(buffer)
expect(client, 'no client')
wait('server', function()
  local it = vim.lsp.get_client_by_id(client)
  return it and it.initialized
end)

local function errors()
  local all = {}
  for _, it in ipairs(vim.diagnostic.get(buffer)) do
    if it.severity == vim.diagnostic.severity.ERROR then
      table.insert(all, it)
    end
  end
  return all
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 30000)
  expect(answers, 'no answer to ' .. method)
  for _, it in pairs(answers) do
    expect(not it.err, method .. ': ' .. vim.inspect(it.err))
    return it.result
  end
end

local function at(line, character)
  vim.api.nvim_win_set_cursor(0, { line + 1, character })
  return vim.lsp.util.make_position_params(0, 'utf-16')
end

-- What is wrong is told.
wait('diagnostics', function() return #errors() == 1 end)
local slip = errors()[1]
expect(slip.code == 'PC0107', 'the code is ' .. tostring(slip.code))
expect(slip.lnum == 3, 'the line is ' .. slip.lnum)
print('diagnostics: ' .. slip.code .. ' in line ' .. slip.lnum + 1)

-- The fix is taken.
at(slip.lnum, slip.col)
local params = vim.lsp.util.make_range_params(0, 'utf-16')
params.context = { diagnostics = {} }
local fix
for _, it in ipairs(ask('textDocument/codeAction', params)) do
  if it.title:find('shuffle', 1, true) and it.edit then
    fix = it
  end
end
expect(fix, 'no fix is offered')
vim.lsp.util.apply_workspace_edit(fix.edit, 'utf-16')
wait('end of the diagnostics', function() return #errors() == 0 end)
print('fixed: ' .. vim.trim(vim.api.nvim_buf_get_lines(buffer, 3, 4, false)[1]))

-- It is put into its form.
local edits = ask('textDocument/formatting', vim.lsp.util.make_formatting_params())
expect(edits and #edits > 0, 'nothing is formatted')
vim.lsp.util.apply_text_edits(edits, buffer, 'utf-16')
local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
vim.fn.writefile(lines, vim.env.PIPEC_FORMATTED)
print('formatted: ' .. vim.trim(lines[5]))

-- A name behind a character of two units tells its type.
local column = lines[5]:find('half', 1, true)
expect(column, 'no `half` in ' .. lines[5])
local document = { uri = vim.uri_from_bufnr(buffer) }
local _, utf16 = vim.str_utfindex(lines[5], column)
local hover
wait('hover', function()
  hover = ask('textDocument/hover', { textDocument = document, position = { line = 4, character = utf16 } })
  return hover and hover.contents.value:find('half: f32', 1, true)
end)
print('hover: ' .. hover.contents.value:gsub('\n', ' '))

-- What may follow is offered.
vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { '    |> wh' })
local last = vim.api.nvim_buf_line_count(buffer) - 1
local offered = ask('textDocument/completion', {
  textDocument = document,
  position = { line = last, character = 9 },
})
local labels = {}
for _, it in ipairs(offered.items) do
  labels[it.label] = true
end
expect(labels['where'] and labels['batch'], 'not offered: ' .. vim.inspect(offered))
expect(not labels['decode_jpeg'], 'a function is offered where an operator is wanted')
print('completion: ' .. #offered.items .. ' offers, `where` and `batch` among them')
vim.cmd('qall!')
