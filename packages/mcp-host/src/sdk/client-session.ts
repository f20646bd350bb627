import {
  CLIENT_CAPABILITIES_META_KEY,
  Client,
  type Progress,
  type StandardSchemaV1,
} from '@modelcontextprotocol/client';
import { type CallRound, SignalboxError, type Tool } from '@signalbox/protocol';
import { readToolList, type ToolPage } from '../inventory/tool-list.ts';
import type { ConnectOptions, RequestLimits, ServerConnection, ToolProgress } from './connect-server.ts';
import type { CallLane } from './legacy-calls.ts';
import { rawResult, rawTools } from './untouched-results.ts';

type Result = Record<PropertyKey, unknown>;

/** A schema that lets everything through: the SDK's own drop what they don't know. */
const untouched: StandardSchemaV1<unknown, Result> = {
  '~standard': { version: 1, vendor: 'signalbox', validate: (value) => ({ value: value as Result }) },
};

/** The SDK's client, to be connected over a transport. `probeMs` bounds the question whether the server knows the current revision. */
export function newClient(
  mode: 'legacy' | 'auto',
  probeMs: number,
  { clientInfo, onToolsChanged, onNoise }: Pick<ConnectOptions, 'clientInfo' | 'onToolsChanged' | 'onNoise'>,
): Client {
  const client = new Client(clientInfo, {
    versionNegotiation: { mode, probe: { timeoutMs: probeMs } },
    inputRequired: { autoFulfill: false },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged } },
  });
  // Some servers send the notice without having announced that they do.
  client.setNotificationHandler('notifications/tools/list_changed', onToolsChanged);
  client.onerror = onNoise;
  leaveResultsOfCallsUntouched(client);
  return client;
}

/** What a connection is besides its client. */
export interface SessionParts {
  lost: Promise<string>;
  isOpen: () => boolean;
  pid: () => number | undefined;
  stderrTail: () => string;
  close: () => Promise<void>;
  /** The shorter way for calls, where the revision and the transport allow it. */
  lane?: CallLane;
}

/** The connection over a client that is connected. */
export function connectionOf(
  client: Client,
  { lost, isOpen, pid, stderrTail, close, lane }: SessionParts,
): ServerConnection {
  const mirrored = new Map<string, Tool>();
  return {
    lost,
    stderrTail,
    close,
    get isOpen() {
      return isOpen();
    },
    get pid() {
      return pid();
    },
    async listTools(limits) {
      if (!client.getServerCapabilities()?.tools) return { tools: [], problems: [] };
      const options = sdkLimits(limits);
      const list = await readToolList(async (cursor) => {
        const params = cursor === undefined ? {} : { cursor };
        return toolPage(await client.request({ method: 'tools/list', params }, untouched, options));
      });
      mirrored.clear();
      for (const tool of list.tools) if (hasMirroredArguments(tool)) mirrored.set(tool.name, tool);
      return list;
    },
    callTool(name, args, limits, { onProgress, round } = {}) {
      if (!isOpen()) return Promise.reject(new SignalboxError('not_sent', 'the session has ended'));
      const isModern = client.getProtocolEra() === 'modern';
      if (lane && !isModern) {
        const { signal } = limits;
        return lane.call(
          { name, arguments: args },
          { timeoutMs: timerMs(limits.timeoutMs), signal },
          onProgress,
        );
      }
      const limited = sdkLimits(limits);
      const params = { name, arguments: args, ...(isModern && round && roundParams(round)) };
      const options = {
        ...limited,
        ...(onProgress && { onprogress: (update: Progress) => onProgress(progressOf(update)) }),
      };
      const tool = mirrored.get(name);
      if (!tool) return client.request({ method: 'tools/call', params }, untouched, options).then(whole);
      // Without its output schema, by which the SDK would judge the result.
      const toolDefinition = { name, inputSchema: tool.inputSchema as { type: 'object' } };
      return client.callTool(params, { ...options, toolDefinition }).then(whole);
    },
  };
}

/** The caller's own capabilities, in the place where the SDK would put ours, and what it answers in a further round. */
function roundParams({ clientCapabilities = {}, inputResponses, requestState }: CallRound) {
  return {
    _meta: { [CLIENT_CAPABILITIES_META_KEY]: clientCapabilities },
    ...(inputResponses && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
}

function whole(result: Result): Result {
  return (result[rawResult] as Result | undefined) ?? result;
}

/** Only the SDK's own `callTool` repeats arguments in headers, where the server asks for that; it then drops what it doesn't know. */
function leaveResultsOfCallsUntouched(client: Client): void {
  const request = client.request.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const ours = (asked: { method: string }, ...rest: unknown[]) =>
    asked.method === 'tools/call' && rest.length < 2
      ? request(asked, untouched, ...rest)
      : request(asked, ...rest);
  client.request = ours as typeof client.request;
}

/** Whether a server of the 2026 revision wants some arguments repeated in HTTP headers; the SDK judges how. */
function hasMirroredArguments(tool: Tool): boolean {
  return JSON.stringify(tool.inputSchema).includes('"x-mcp-header"');
}

function toolPage(result: Result): ToolPage {
  return { tools: result[rawTools] ?? result.tools, nextCursor: result.nextCursor };
}

function progressOf({ progress, total, message }: Progress): ToolProgress {
  return { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
}

/** Timers hold at most 2^31 - 1 ms. */
function timerMs(timeoutMs: number): number {
  return Math.min(Math.max(1, Math.ceil(timeoutMs)), 2 ** 31 - 1);
}

/** Without `maxTotalTimeout` the SDK lets progress put the end off for ever. */
function sdkLimits({ timeoutMs, signal }: RequestLimits) {
  const timeout = timerMs(timeoutMs);
  return { timeout, maxTotalTimeout: timeout, signal };
}
