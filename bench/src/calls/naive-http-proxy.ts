import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';

/**
 * The least a proxy from HTTP to stdio can be: one process, the SDK on both sides, a session for each client, answers in JSON. It asks for
 * no token and keeps nothing.
 */
const [port, command, ...args] = process.argv.slice(2);
const upstream = new Client({ name: 'naive-http-proxy', version: '1.0.0' });
await upstream.connect(new StdioClientTransport({ command: command!, args, stderr: 'ignore' }));
const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

async function openSession(): Promise<WebStandardStreamableHTTPServerTransport> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  const server = new Server({ name: 'naive-http-proxy', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => upstream.listTools());
  server.setRequestHandler('tools/call', ({ params }) => upstream.callTool(params));
  await server.connect(transport);
  return transport;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  return text;
}

createServer(async (request, response) => {
  const body = await textOf(request);
  const session = request.headers['mcp-session-id'];
  const transport = sessions.get(`${session}`) ?? (await openSession());
  const headers = request.headers as Record<string, string>;
  const asked = new Request(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body });
  const answer = await transport.handleRequest(asked);
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
}).listen(Number(port), '127.0.0.1');
