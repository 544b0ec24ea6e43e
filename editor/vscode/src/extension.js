// The client: starts `pipec lsp`, and shows what its commands tell beside the text.

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

const SCHEME = 'pipec';
const COMMANDS = ['pipec.explain', 'pipec.peek', 'pipec.story'];

let client;
const told = new Map();
const changed = new vscode.EventEmitter();

// Shows a text in a document of its own, beside the one that it is about.
async function show(title, text) {
  const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}` });
  told.set(uri.toString(), text);
  changed.fire(uri);
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document, {
    viewColumn: vscode.ViewColumn.Beside,
    preserveFocus: true,
    preview: true,
  });
}

function made() {
  const command = vscode.workspace.getConfiguration('pipec').get('path', 'pipec');
  const run = { command, args: ['lsp'] };
  return new LanguageClient('pipec', 'pipec', { run, debug: run }, {
    documentSelector: [{ language: 'pipe' }],
    initializationOptions: { showsResults: true },
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/*.{pipe,lock,profile}') },
    middleware: {
      async executeCommand(name, args, next) {
        const text = await next(name, args);
        if (COMMANDS.includes(name) && typeof text === 'string') {
          await show([name.slice('pipec.'.length), ...args.slice(name === 'pipec.story' ? 0 : 1)].join(' '), text);
        }
        return text;
      },
    },
  });
}

// The pipeline that the cursor is in, else the last above it, else the first.
async function pipelineAtCursor(editor) {
  const uri = editor.document.uri;
  const symbols = (await vscode.commands.executeCommand('vscode.executeDocumentSymbolProvider', uri)) ?? [];
  const pipelines = symbols.filter((it) => it.kind === vscode.SymbolKind.Class);
  const line = editor.selection.active.line;
  const above = pipelines.filter((it) => it.range.start.line <= line);
  return (above.at(-1) ?? pipelines[0])?.name;
}

async function showPlan() {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.languageId !== 'pipe' || !client) return;
  const name = await pipelineAtCursor(editor);
  if (!name) {
    vscode.window.showInformationMessage('There is no pipeline in this file.');
    return;
  }
  try {
    const args = [editor.document.uri.toString(), name];
    const text = await client.sendRequest('workspace/executeCommand', { command: 'pipec.explain', arguments: args });
    await show(`explain ${name}`, text);
  } catch (error) {
    vscode.window.showErrorMessage(`The plan of ${name} cannot be shown: ${error.message}`);
  }
}

async function start() {
  client = made();
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `pipec could not be started: ${error.message}. The setting pipec.path says where it is.`,
    );
  }
}

async function activate(context) {
  const provider = {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => told.get(uri.toString()) ?? '',
  };
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, provider),
    vscode.commands.registerCommand('pipec.showPlan', showPlan),
    vscode.commands.registerCommand('pipec.restart', async () => {
      await client?.dispose();
      await start();
    }),
  );
  await start();
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
