// This is the server that the conformance suite calls, in both protocol eras. With the argument `stdio` it serves standard input and
// output.
import { randomUUID } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createMcpHandler,
  fromJsonSchema,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
  ProtocolError,
  type Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { type HttpEndpoint, startEndpoint } from '../mcp-host/http-endpoint.ts';
import { askingTools } from './asking-tools.ts';
import { eventStore } from './event-store.ts';
import { text } from './fixture-content.ts';
import { addMcpContent, mcpContentCapabilities } from './fixture-mcp-content.ts';
import { type FixtureTool, fixtureTool } from './fixture-tool.ts';
import { headerTool, plainTools } from './plain-tools.ts';
import { slowTools } from './slow-tools.ts';

const quickTools = [...plainTools, ...askingTools];

/** The state that the servers of one fixture share. */
interface FixtureState {
  tools: readonly FixtureTool[];
  /** The number of changes of the list of tools. */
  changes: number;
  announceTools(server: Server): void;
  /** The number of changes of the list of prompts. */
  promptChanges: number;
  announcePrompts(server: Server): void;
  announceUpdate(server: Server, uri: string): void;
}

/** The state of a server that tells its own client of changes. */
const unchanged: FixtureState = {
  tools: [...quickTools, ...slowTools],
  changes: 0,
  announceTools: (server) => void server.sendToolListChanged(),
  promptChanges: 0,
  announcePrompts: (server) => void server.sendPromptListChanged(),
  announceUpdate: (server, uri) => void server.sendResourceUpdated({ uri }),
};

function newServer(state: FixtureState): McpServer {
  const known = new McpServer(
    { name: 'fixture', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true }, ...mcpContentCapabilities, logging: {} } },
  );
  const { server } = known;
  checkHeaders(known);
  addMcpContent(server, () => state.promptChanges);
  const tools = () => [...state.tools, changing(state.changes)];
  server.setRequestHandler('tools/list', () => ({ tools: tools().map((tool) => tool.definition) }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const tool = tools().find(({ definition }) => definition.name === params.name);
    if (!tool) throw new ProtocolError(-32602, `there is no tool '${params.name}'`);
    return tool.run({
      args: params.arguments ?? {},
      context,
      capabilities: capabilitiesOf(server, context),
      changeTools: () => {
        state.changes++;
        state.announceTools(server);
      },
      changeResource: (uri) => state.announceUpdate(server, uri),
      changePrompts: () => {
        state.promptChanges++;
        state.announcePrompts(server);
      },
    });
  });
  return known;
}

/** Makes the SDK compare the headers of calls with their arguments, which it does only for tools that are registered with it. */
function checkHeaders(known: McpServer): void {
  const { name, inputSchema } = headerTool.definition;
  known.registerTool(name, { inputSchema: fromJsonSchema(inputSchema as never) }, () => ({ content: [] }));
}

/** Returns the kinds of questions that the client takes. In the 2026 revision each request names them; earlier, the handshake did. */
function capabilitiesOf(server: Server, { mcpReq }: ServerContext): ClientCapabilities {
  const envelope = mcpReq.envelope as { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined;
  return (envelope ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities()) ?? {};
}

/** Returns the tool whose description differs after each change. It says whether it was called in a session. */
function changing(changes: number): FixtureTool {
  return fixtureTool('test_changing_tool', `Changed ${changes} times.`, ({ context: { sessionId } }) => ({
    content: [text(sessionId === undefined ? 'here' : 'in a session')],
  }));
}

/** The fixture over HTTP. A session that is removed from `sessions` is unknown to the server. */
export interface HttpFixture extends HttpEndpoint {
  sessions: Map<string, unknown>;
}

/**
 * Serves the fixture over HTTP, each older client in a session of its own, or no older client. Without its slow tools it has nothing for
 * tasks.
 */
export async function startFixture({ slow = true, older = true } = {}): Promise<HttpFixture> {
  const state: FixtureState = {
    ...unchanged,
    ...(!slow && { tools: quickTools }),
    announceTools: () => modern.notify.toolsChanged(),
    announcePrompts: () => modern.notify.promptsChanged(),
    announceUpdate: (_server, uri) => modern.notify.resourceUpdated(uri),
  };
  const modern = createMcpHandler(() => newServer(state), { legacy: 'reject' });
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const openSession = async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: eventStore(),
      retryInterval: 10,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await newServer({ ...unchanged }).connect(transport);
    return transport;
  };
  const endpoint = await startEndpoint(async (request) => {
    const refusal =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refusal) return refusal;
    if (!older || !(await isLegacyRequest(request))) return modern.fetch(request);
    const named = request.headers.get('mcp-session-id');
    const session = named === null ? await openSession() : sessions.get(named);
    return session?.handleRequest(request) ?? new Response(null, { status: 404 });
  });
  return { ...endpoint, sessions };
}

/** Sends all writes of one turn of the event loop together, so that the questions of one tool arrive together. */
function writeTogether({ stdout }: NodeJS.Process): void {
  const write = stdout.write.bind(stdout);
  let text = '';
  stdout.write = ((part: string) => {
    if (text === '') {
      setImmediate(() => {
        const whole = text;
        text = '';
        write(whole);
      });
    }
    text += part;
    return true;
  }) as typeof write;
}

if (process.argv[2] === 'stdio') {
  writeTogether(process);
  serveStdio(() => newServer({ ...unchanged }));
}
