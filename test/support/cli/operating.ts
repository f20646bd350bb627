// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProtectedServer } from '../mcp-host/oauth/protected-server.ts';
import { startOAuthProvider } from '../mcp-host/oauth/provider.ts';
import { startWorkspace, type Workspace } from './workspace.ts';

const namedToolsServer = fileURLToPath(new URL('./named-tools-server.ts', import.meta.url));
const nonstandardServer = fileURLToPath(new URL('../mcp-host/nonstandard-server.ts', import.meta.url));

/** Returns the entry of a server with these tools. */
export function plain(...tools: string[]): string {
  return JSON.stringify({ command: process.execPath, args: [namedToolsServer, ...tools] });
}

/** Has the server `fickle` describe its tool in these words when it is started. */
export async function writeFickle(directory: string, description: string): Promise<void> {
  const look = { name: 'look', description, inputSchema: { type: 'object' } };
  await writeFile(join(directory, 'fickle.json'), JSON.stringify({ pages: [[look]] }));
}

export const longTool = 'a_tool_whose_name_is_longer_than_most_clients_take';

function configTextOf(docsUrl: string, servers = '', researcher = ''): string {
  const docs = { url: docsUrl, auth: { type: 'authorization_code' } };
  return `broker: { listen: "127.0.0.1:0", data: ./state }
allowHosts: ["127.0.0.1"]
mcpConfig: ./mcp.json
mcpServers:
  hidden: { tool_discovery: false, ${plain('whisper').slice(1)}
  broken: { command: node, args: [-e, 'console.error("cannot open database"); process.exit(3)'], maxRestarts: 0 }
  docs: ${JSON.stringify(docs)}
  fickle: ${JSON.stringify({ definitions: 'pin', command: process.execPath, args: [nonstandardServer], env: { TOOL_LIST_FILE: './fickle.json' } })}
  off: { command: ./nowhere, disabled: true }
  plain: { neverRepeat: [drop], ${plain('echo', 'drop', longTool).slice(1)}
${servers}
roles:
  researcher: { tools: [mcp_plain__echo, mcp_plain__drop${researcher}], prompts: [mcp_plain__sum, mcp_broken__sum] }
`;
}

/** `up` with servers of all kinds, one behind a provider of sign-ins. */
export interface OperatedSite extends AsyncDisposable {
  readonly workspace: Workspace;
  /** Returns the text of the configuration, with further servers and rules. */
  configText(servers?: string, researcher?: string): string;
}

export async function startOperatedSite(): Promise<OperatedSite> {
  await using opened = new AsyncDisposableStack();
  const provider = opened.use(await startOAuthProvider());
  const docsServer = opened.use(await startProtectedServer(provider));
  const configText = (servers?: string, researcher?: string) =>
    configTextOf(docsServer.url, servers, researcher);
  const started = await startWorkspace(async (directory) => {
    const replaced = { command: './gone', env: { KEY: '${NOT_SET}' } };
    const imported = { command: process.execPath, args: [namedToolsServer, 'fetch'], autoApprove: ['fetch'] };
    await writeFile(
      join(directory, 'mcp.json'),
      JSON.stringify({ mcpServers: { plain: replaced, imported } }),
    );
    await writeFickle(directory, 'Looks.');
    return configText();
  });
  const workspace = opened.use(started);
  const resources = opened.move();
  return { workspace, configText, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
