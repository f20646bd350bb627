import { fileURLToPath } from 'node:url';

export const broker = { listen: '127.0.0.1:0', data: './state' };
const namedToolsServer = fileURLToPath(new URL('./named-tools-server.ts', import.meta.url));
/** A server that starts quickly, whose tool answers with its process, and a role that may call it. */
export const plain = JSON.stringify({
  broker,
  mcpServers: { plain: { command: process.execPath, args: [namedToolsServer, 'look'] } },
  roles: { researcher: { tools: ['mcp_plain__look'] } },
});
