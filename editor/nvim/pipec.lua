-- Starts `pipec lsp` for `.pipe` files. In Neovim from 0.7 on: dofile this in your init.lua, or copy it.

local M = {}

--- The program that serves; a path where it is not in PATH.
M.command = { 'pipec', 'lsp' }

--- Starts the server for a buffer, or takes the one that runs.
function M.start(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local config = {
    name = 'pipec',
    cmd = M.command,
    root_dir = vim.fn.fnamemodify(name, ':p:h'),
  }
  if vim.lsp.start then
    return vim.lsp.start(config, { bufnr = buffer })
  end
  -- Neovim before 0.8.
  M.client = M.client or vim.lsp.start_client(config)
  vim.lsp.buf_attach_client(buffer, M.client)
  return M.client
end

function M.setup()
  vim.api.nvim_create_autocmd('FileType', {
    pattern = 'pipe',
    callback = function(event)
      M.start(event.buf)
    end,
  })
end

return M
