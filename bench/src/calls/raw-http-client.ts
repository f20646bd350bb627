import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { CallableTool } from './callable-tool.ts';
import { check, initializedNotification, initializeParams } from './raw-answers.ts';

/** An MCP server over Streamable HTTP, the tool to call, and the clients that call it. */
export interface HttpServer {
  tool: string;
  url: string;
  /** The number of clients, each with a session and connections of its own. */
  clients: number;
  /** The token of each client. Absent if the server wants none. */
  tokens?: string[];
}

/** The most calls that one client has under way; it has that many connections. */
const connectionsOfClient = 4;

/** Opens the sessions of all clients, one after the other. A call's lane, a number, selects its client. */
export async function openRawHttpClients(server: HttpServer): Promise<CallableTool> {
  const clients: CallableTool[] = [];
  for (let i = 0; i < server.clients; i++) clients.push(await openRawHttpClient(server, server.tokens?.[i]));
  return {
    call: (message, lane) => clients[lane % clients.length]!.call(message, lane),
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) await client[Symbol.asyncDispose]();
    },
  };
}

async function openRawHttpClient({ tool, url }: HttpServer, token?: string): Promise<CallableTool> {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsOfClient });
  const { hostname, port, pathname } = new URL(url);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const post = (body: string): Promise<{ headers: IncomingHttpHeaders; text: string }> =>
    new Promise((resolve, reject) => {
      const options = { host: hostname, port, path: pathname, method: 'POST', agent };
      const length = { 'content-length': `${Buffer.byteLength(body)}` };
      httpRequest({ ...options, headers: { ...headers, ...length } }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.once('error', reject);
        response.once('end', () => resolve({ headers: response.headers, text }));
      })
        .once('error', reject)
        .end(body);
    });
  let numbered = 0;
  const request = (method: string, params: unknown) =>
    post(JSON.stringify({ jsonrpc: '2.0', id: ++numbered, method, params }));
  const session = (await request('initialize', initializeParams)).headers['mcp-session-id'];
  if (typeof session === 'string') headers['mcp-session-id'] = session;
  headers['mcp-protocol-version'] = initializeParams.protocolVersion;
  await post(initializedNotification);
  return {
    call: async (message) =>
      check(message, (await request('tools/call', { name: tool, arguments: { message } })).text),
    [Symbol.asyncDispose]: async () => agent.destroy(),
  };
}
