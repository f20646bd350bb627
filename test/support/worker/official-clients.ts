import { setImmediate } from 'node:timers/promises';
import {
  Client as CurrentClient,
  StreamableHTTPClientTransport as CurrentHttp,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as CurrentStdio } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  LoggingMessageNotificationSchema,
  ProgressNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

type Json = Record<string, unknown>;
export type Listed = Json & { name: string; uri?: string; uriTemplate?: string };
export type ListMethod = 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list';

/** The time in milliseconds after which a request counts as one that its client never sees answered. */
const timeout = 10_000;

/** The parts that one of the official clients accepts, each through its own methods. */
export interface OfficialClient {
  close(): Promise<void>;
  /** Calls `listener` each time that the client is told of a change of the tools. */
  onToolsChanged(listener: () => void): void;
  list(method: ListMethod, only?: string): Promise<Listed[]>;
  call(name: string, key: string, args?: Json): Promise<unknown>;
  /** Calls a tool, and returns its answer with the progress and the lines of the log that came before it. */
  told(name: string, key: string): Promise<{ answer: unknown; progress: unknown[]; logged: unknown[] }>;
  prompt(name: string, key: string): Promise<unknown>;
  read(uri: string): Promise<unknown>;
}

/** A program that serves standard input, or the address of a server. */
export type Reached = { command: string; args: string[]; env: Record<string, string> } | { url: string };

/** Both clients have these methods. */
type Methods = Pick<
  Client,
  | 'close'
  | 'onerror'
  | 'listTools'
  | 'listPrompts'
  | 'listResources'
  | 'listResourceTemplates'
  | 'getPrompt'
  | 'readResource'
>;

/** The listeners of a client. Each returns nothing. */
interface Listening extends Pick<OfficialClient, 'onToolsChanged'> {
  onLog(listener: (note: Json) => void): void;
  onProgress(listener: (note: Json) => void): void;
  /** Calls a tool, and gives up after {@link timeout}. */
  patiently(params: { name: string; arguments: Json; _meta?: Json }): Promise<Json>;
}

function official(
  client: Methods,
  { onToolsChanged, onLog, onProgress, patiently }: Listening,
): OfficialClient {
  let tokens = 0;
  const logged: Json[] = [];
  const progress: Json[] = [];
  onLog((note) => logged.push(note));
  // The client's own way loses progress that arrives together with the answer.
  onProgress(({ progressToken, _meta, ...note }) => {
    if (progressToken !== tokens) return;
    progress.push({ ...note, _meta: _meta ?? {} });
  });
  const pageOf = async (method: ListMethod, params: object): Promise<{ entries: unknown; next?: string }> => {
    const page = {
      'tools/list': () => client.listTools(params),
      'prompts/list': () => client.listPrompts(params),
      'resources/list': () => client.listResources(params),
      'resources/templates/list': () => client.listResourceTemplates(params),
    }[method];
    const { nextCursor, ...rest } = (await page()) as Json & { nextCursor?: string };
    const entries = Object.values(rest).find(Array.isArray);
    return { entries, ...(nextCursor !== undefined && { next: nextCursor }) };
  };
  // A client that does not understand an answer at all reports an error, and goes on waiting for the answer.
  const answered = <Value>(request: Promise<Value>): Promise<Value> => {
    const unread = Promise.withResolvers<never>();
    client.onerror = unread.reject;
    return Promise.race([request, unread.promise]);
  };
  return {
    async list(method, only) {
      const all: Listed[] = [];
      const asked = only === undefined ? {} : { _meta: { only } };
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        const { entries, next } = await answered(
          pageOf(method, { ...asked, ...(cursor !== undefined && { cursor }) }),
        );
        all.push(...(entries as Listed[]));
        cursor = only === undefined ? next : undefined;
      }
      return all;
    },
    call: (name, key, args = { key }) => answered(patiently({ name, arguments: args })).then(withoutRevision),
    async told(name, key) {
      logged.splice(0);
      progress.splice(0);
      const _meta = { progressToken: ++tokens };
      const answer = withoutRevision(await patiently({ name, arguments: { key }, _meta }));
      await setImmediate();
      return { answer, progress: [...progress], logged: [...logged] };
    },
    prompt: (name, key) => answered(client.getPrompt({ name, arguments: { key } })).then(withoutRevision),
    read: (uri) => answered(client.readResource({ uri })).then(withoutRevision),
    close: () => client.close(),
    onToolsChanged,
  };
}

/** Takes out what each result of the current revision has. */
function withoutRevision({ _meta, ttlMs: _ttl, cacheScope: _scope, ...result }: Json): Json {
  const { 'io.modelcontextprotocol/serverInfo': _face, ...meta } = (_meta ?? {}) as Json;
  return { ...result, _meta: meta };
}

const info = { name: 'agent', version: '1' };

async function connectFirst(server: Reached): Promise<OfficialClient> {
  const client = new Client(info);
  await client.connect(
    'url' in server
      ? new StreamableHTTPClientTransport(new URL(server.url))
      : new StdioClientTransport({ ...server, stderr: 'ignore' }),
    { timeout },
  );
  return official(client, {
    onToolsChanged: (listener) => client.setNotificationHandler(ToolListChangedNotificationSchema, listener),
    onLog: (listener) =>
      client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => listener(params)),
    onProgress: (listener) =>
      client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => listener(params)),
    patiently: (params) => client.callTool(params, undefined, { timeout }),
  });
}

async function connectCurrent(server: Reached): Promise<OfficialClient> {
  const client = new CurrentClient(info, { versionNegotiation: { mode: 'auto' } });
  await client.connect(
    'url' in server
      ? new CurrentHttp(new URL(server.url))
      : new CurrentStdio({ ...server, stderr: 'ignore' }),
    { timeout },
  );
  return official(client as unknown as Methods, {
    onToolsChanged: (listener) => client.setNotificationHandler('notifications/tools/list_changed', listener),
    onLog: (listener) =>
      client.setNotificationHandler('notifications/message', ({ params }) => listener({ ...params })),
    onProgress: (listener) =>
      client.setNotificationHandler('notifications/progress', ({ params }) => listener({ ...params })),
    patiently: (params) => client.callTool(params, { timeout }),
  });
}

/** Both official clients, the one of the revisions up to 2025-11-25 first. */
export const officialClients = [connectFirst, connectCurrent] as const;
