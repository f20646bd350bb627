import { createInterface } from 'node:readline';

/** The functions that a tool may use during the call that it serves. */
export interface CallContext {
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Sends progress; absent if the client did not ask for it. */
  readonly progress?: (update: { progress: number; total: number; message: string }) => void;
}

/** The tools of a server, and the way to call them; a rejection becomes an internal error. */
export interface StdioServer {
  name: string;
  tools: readonly object[];
  call(name: string, args: Record<string, unknown>, context: CallContext): Promise<object>;
}

interface Incoming {
  id?: string | number;
  method?: string;
  params?: {
    protocolVersion?: string;
    name?: string;
    arguments?: Record<string, unknown>;
    requestId?: string | number;
    _meta?: { progressToken?: string | number };
  };
}

/**
 * Serves tools to an MCP client of the 2025 revisions on standard input and output. It does not use the SDK, because tests start hundreds
 * of these servers, and loading the SDK is most of the time of a start; servers made with the SDK have tests of their own.
 */
export function serveStdioTools({ name, tools, call }: StdioServer): void {
  const running = new Map<string | number, AbortController>();
  const send = (message: object): void => {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  };

  async function callTool(id: string | number, params: NonNullable<Incoming['params']>): Promise<void> {
    const given = new AbortController();
    running.set(id, given);
    const progressToken = params._meta?.progressToken;
    const context: CallContext = {
      signal: given.signal,
      ...(progressToken !== undefined && {
        progress: (update) =>
          send({ method: 'notifications/progress', params: { progressToken, ...update } }),
      }),
    };
    try {
      const result = await call(params.name ?? '', params.arguments ?? {}, context);
      if (!given.signal.aborted) send({ id, result });
    } catch (error) {
      if (!given.signal.aborted) send({ id, error: { code: -32603, message: String(error) } });
    } finally {
      running.delete(id);
    }
  }

  const answers: Record<string, (params: NonNullable<Incoming['params']>) => object> = {
    initialize: ({ protocolVersion = '2025-11-25' }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name, version: '1.0.0' },
    }),
    ping: () => ({}),
    'tools/list': () => ({ tools }),
  };

  function answer({ id, method = '', params = {} }: Incoming): void {
    if (method === 'notifications/cancelled') running.get(params.requestId ?? '')?.abort();
    if (id === undefined) return;
    const result = Object.hasOwn(answers, method) ? answers[method]!(params) : undefined;
    if (method === 'tools/call') void callTool(id, params);
    else if (result) send({ id, result });
    else send({ id, error: { code: -32601, message: `no such method: ${method}` } });
  }

  const input = createInterface({ input: process.stdin });
  input.on('line', (line) => answer(JSON.parse(line) as Incoming));
  input.on('close', () => process.exit(0));
}
