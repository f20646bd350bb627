import { startMcpHost } from '@signalbox/mcp-host';
import { McpProxyExecutor } from '@signalbox/worker';
import type { CallableTool } from './callable-tool.ts';
import { check } from './raw-answers.ts';
import { type HttpServer, openRawHttpClients } from './raw-http-client.ts';
import { openRawStdioClient, type StdioServer } from './raw-stdio-client.ts';

/** The place where a call of the `echo` tool enters the chain of programs that leads to the server. */
export type CallEntry =
  | ({ enters: 'stdio'; tool: string } & StdioServer)
  | ({ enters: 'http' } & HttpServer)
  | { enters: 'executor'; tool: string; url: string; agent: string; token: string }
  | { enters: 'host'; server: string };

const timeoutMs = 60_000;

export async function openEntry(entry: CallEntry): Promise<CallableTool> {
  switch (entry.enters) {
    case 'stdio':
      return openRawStdioClient(entry);
    case 'http':
      return openRawHttpClients(entry);
    case 'executor': {
      const executor = await McpProxyExecutor.connect({
        url: entry.url,
        token: entry.token,
        agent: entry.agent,
      });
      return {
        call: async (message) => {
          check(
            message,
            JSON.stringify(await executor.execute({ name: entry.tool, arguments: { message } })),
          );
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
          check(message, JSON.stringify(await host.call('mcp_everything__echo', { message }, options)));
        },
        [Symbol.asyncDispose]: () => host.close(),
      };
    }
  }
}
