import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connectBroker, requestAddress } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { McpProxyExecutor } from '@signalbox/worker';

/** The place where a call of the `echo` tool enters the chain of programs that leads to the server. */
export type CallEntry =
  | { enters: 'stdio'; tool: string; command: string; args: string[]; env?: Record<string, string> }
  | { enters: 'http'; tool: string; url: string }
  | { enters: 'executor'; tool: string; url: string; token: string }
  | { enters: 'host'; server: string }
  /** Calls an agent that answers at once, instead of a tool. */
  | { enters: 'broker'; url: string; token: string };

/** A connected entry. */
export interface OpenEntry extends AsyncDisposable {
  /** Makes a call. Rejects unless the answer holds the message. */
  call(message: string): Promise<void>;
}

const timeoutMs = 60_000;

export async function openEntry(entry: CallEntry): Promise<OpenEntry> {
  switch (entry.enters) {
    case 'stdio': {
      const { command, args, env } = entry;
      return sdkClient(
        new StdioClientTransport({ command, args, env: { ...plainEnvironment(), ...env }, stderr: 'ignore' }),
        entry.tool,
      );
    }
    case 'http':
      return sdkClient(new StreamableHTTPClientTransport(new URL(entry.url)), entry.tool);
    case 'executor': {
      const executor = await McpProxyExecutor.connect({
        url: entry.url,
        token: entry.token,
        agent: 'client',
      });
      return {
        call: async (message) => {
          check(message, await executor.execute({ name: entry.tool, arguments: { message } }));
        },
        [Symbol.asyncDispose]: () => executor.close(),
      };
    }
    case 'host': {
      const everything = { type: 'stdio' as const, command: process.execPath, args: [entry.server] };
      const host = startMcpHost({ servers: { everything } });
      await host.inventory();
      return {
        call: async (message) => {
          const { signal } = new AbortController();
          const options = { signal, timeoutMs, caller: { agent: 'client', role: 'worker' } };
          check(message, await host.call('mcp_everything__echo', { message }, options));
        },
        [Symbol.asyncDispose]: () => host.close(),
      };
    }
    case 'broker': {
      const client = await connectBroker({
        url: entry.url,
        token: entry.token,
        agent: requestAddress('client'),
      });
      return {
        call: async (message) => {
          const body = { op: 'call', tool: 'echo', arguments: { message }, options: {} };
          const outcome = await client.request('server', 'ask', body, { timeoutMs });
          check(message, outcome.status === 'completed' ? outcome.reply.json : outcome);
        },
        [Symbol.asyncDispose]: () => client.close(),
      };
    }
  }
}

async function sdkClient(transport: Transport, tool: string): Promise<OpenEntry> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(transport);
  return {
    call: async (message) => {
      check(message, await client.callTool({ name: tool, arguments: { message } }));
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function check(message: string, answer: unknown): void {
  const text = JSON.stringify(answer);
  if (!text.includes(message)) throw new Error(`the call '${message}' was answered with ${text}`);
}

function plainEnvironment(): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };
}
