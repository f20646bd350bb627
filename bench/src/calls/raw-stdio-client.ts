import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { CallableTool } from './callable-tool.ts';
import { check, initializedNotification, initializeParams, type RawAnswer } from './raw-answers.ts';

/** The command of an MCP server over stdio. */
export interface StdioServer {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** A session with an MCP server. */
export interface StdioSession extends AsyncDisposable {
  /** Calls a tool that echoes a message. Rejects unless the answer holds the message. */
  call(tool: string, message: string): Promise<void>;
}

/** Opens a session whose calls are all of one tool. */
export async function openRawStdioClient(server: StdioServer & { tool: string }): Promise<CallableTool> {
  const session = await openRawStdioSession(server);
  return {
    call: (message) => session.call(server.tool, message),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/**
 * Starts an MCP server, and calls its tools with hardly any code in between, so that the client's own cost hides nothing of what is
 * measured. Requests of one turn of the event loop leave in one write.
 */
export async function openRawStdioSession({ command, args, env }: StdioServer): Promise<StdioSession> {
  const server = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = once(server, 'exit');
  const waiting = new Map<number, { resolve: (text: string) => void; reject: (error: Error) => void }>();
  let rest = '';
  server.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const { id } = JSON.parse(line) as RawAnswer;
      if (id === undefined) continue;
      waiting.get(id)?.resolve(line);
      waiting.delete(id);
    }
  });
  server.stdin.on('error', () => {});
  void exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error(`'${args.join(' ')}' has ended`));
  });
  let numbered = 0;
  let unsent = '';
  const send = (line: string): void => {
    if (unsent === '') {
      setImmediate(() => {
        server.stdin.write(unsent);
        unsent = '';
      });
    }
    unsent += `${line}\n`;
  };
  const request = (method: string, params: unknown): Promise<string> => {
    const id = ++numbered;
    send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  };
  await request('initialize', initializeParams);
  send(initializedNotification);
  await request('tools/list', {});
  return {
    call: async (tool, message) =>
      check(message, await request('tools/call', { name: tool, arguments: { message } })),
    [Symbol.asyncDispose]: async () => {
      server.stdin.end();
      const late = setTimeout(() => server.kill('SIGKILL'), 10_000);
      await exited;
      clearTimeout(late);
    },
  };
}
