import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Server } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** The least a proxy can be: one process, the SDK on both sides, no roles, nothing kept. */
const [command, ...args] = process.argv.slice(2);
const upstream = new Client({ name: 'naive-proxy', version: '1.0.0' });
await upstream.connect(new StdioClientTransport({ command: command!, args, stderr: 'ignore' }));
const server = new Server({ name: 'naive-proxy', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler('tools/list', () => upstream.listTools());
server.setRequestHandler('tools/call', ({ params }) => upstream.callTool(params));
server.onclose = () => void upstream.close();
await server.connect(new StdioServerTransport());
