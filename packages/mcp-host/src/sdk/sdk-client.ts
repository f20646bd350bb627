import { Client, type ClientCapabilities, type StandardSchemaV1 } from '@modelcontextprotocol/client';
import type { McpLogMessage } from '@signalbox/protocol';
import type { Declared } from '../questions/askable.ts';
import type { ServerQuestions } from '../questions/server-questions.ts';
import { failureOf } from './sdk-failure.ts';

/** A result of the SDK's client that no schema has touched. */
export type UntouchedResult = Record<PropertyKey, unknown>;

/** The name and version that servers are told. */
const clientInfo = { name: 'signalbox', version: '0.1.0' };

/**
 * The capabilities that the session declares, and the function that answers questions. For servers of the 2026 revision, each call declares
 * what its own caller can be asked.
 */
export interface ClientQuestions {
  declared: Declared;
  questions: ServerQuestions;
}

/** The callbacks for events that belong to no request. */
export interface ClientEvents {
  /** Called when the server announces that its tools have changed. */
  onToolsChanged: () => void;
  /** Called when the server announces that its prompts or resources have changed. */
  onMcpContentChanged: () => void;
  /** Called when the server says that a resource has changed. */
  onResourceUpdated: (uri: string) => void;
  /** Called with each log message of the server. It may hold secrets. */
  onLogMessage: (message: McpLogMessage) => void;
  /** Called when something goes wrong without ending a request. The reason may hold the server's own words. */
  onNoise: (reason: string) => void;
}

/**
 * A schema that lets every result through. Workaround for the SDK 2.4.0: its own schemas drop the fields that they
 * don't know.
 */
export const untouched: StandardSchemaV1<unknown, UntouchedResult> = {
  '~standard': {
    version: 1,
    vendor: 'signalbox',
    validate: (value) => ({ value: value as UntouchedResult }),
  },
};

/**
 * Creates the SDK's client. It waits up to `probeMs` for the server's answer to the question for the current revision.
 */
export function newClient(
  mode: 'legacy' | 'auto',
  probeMs: number,
  {
    onToolsChanged,
    onMcpContentChanged,
    onResourceUpdated,
    onNoise,
    declared,
    questions,
  }: ClientEvents & ClientQuestions,
): Client {
  const client = new Client(clientInfo, {
    versionNegotiation: { mode, probe: { timeoutMs: probeMs } },
    capabilities: declared as ClientCapabilities,
    inputRequired: { autoFulfill: false },
    listChanged: {
      tools: { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged },
      prompts: { autoRefresh: false, debounceMs: 0, onChanged: onMcpContentChanged },
      resources: { autoRefresh: false, debounceMs: 0, onChanged: onMcpContentChanged },
    },
  });
  // Some servers send the notification without having declared it.
  client.setNotificationHandler('notifications/tools/list_changed', onToolsChanged);
  client.setNotificationHandler('notifications/prompts/list_changed', onMcpContentChanged);
  client.setNotificationHandler('notifications/resources/list_changed', onMcpContentChanged);
  client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
    onResourceUpdated(params.uri),
  );
  // With handlers for these methods, the SDK would check questions and answers against its schemas, which drop fields that they do not
  // know.
  client.fallbackRequestHandler = (request, { mcpReq }) => questions.answer(request, mcpReq.signal);
  client.onerror = (error) => onNoise(noiseOf(error));
  keepCallResultsUntouched(client);
  return client;
}

/**
 * Workaround for the SDK 2.4.0: only its `callTool` repeats arguments in headers for servers that ask for it, and it takes no schema from
 * its caller. So the schema is put into the request that it makes.
 */
function keepCallResultsUntouched(client: Client): void {
  const request = client.request.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const patched = (asked: { method: string }, ...rest: unknown[]) =>
    asked.method === 'tools/call' && rest.length < 2
      ? request(asked, untouched, ...rest)
      : request(asked, ...rest);
  client.request = patched as typeof client.request;
}

/** The SDK's plain errors quote whole messages, which may hold any text. The log must not. */
function noiseOf(error: Error): string {
  return error.constructor === Error ? 'a message that nothing waits for' : failureOf(error).reason;
}
