import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server';
import { type CallRound, messageOf } from '@signalbox/protocol';
import type { RunningCalls } from '../tools/running-calls.ts';
import { answerCall, type ClientCall } from './answer-call.ts';
import type { ShownTools } from './face-server.ts';
import { untouched } from './legacy-input.ts';

/** Of earlier revisions; the SDK sends what took its place. */
const retiredNotFound = -32002;

export interface DirectCallsOptions {
  tools: ShownTools;
  running: RunningCalls;
  heartbeatMs: number;
}

interface CallMessage {
  id: RequestId;
  params: { name: unknown; arguments?: unknown; _meta?: Record<string, unknown> };
}

/**
 * Answers the calls of a session of the revisions up to 2025-11-25 itself, beside the SDK's server, which checks each message
 * against schemas several times and so costs more than the rest of the way to the broker. Everything else is the server's.
 */
export class DirectCalls {
  readonly #options: DirectCallsOptions;
  readonly #calls = new Map<RequestId, (reason: unknown) => void>();
  #server: Server | undefined;
  /** What the client can be asked for is said once, at the beginning of the session. */
  #round: CallRound = {};
  #wire: Transport | undefined;

  constructor(options: DirectCallsOptions) {
    this.#options = options;
  }

  /** To be called when the transport has its reader. */
  attach(wire: Transport): void {
    this.#wire = wire;
    const { onmessage } = wire;
    wire.onmessage = (message, extra) => {
      if (!this.#take(message)) onmessage?.(message, extra);
    };
  }

  /** The session is set up: from now on its calls are taken. */
  open(server: Server): void {
    this.#server = server;
    const clientCapabilities = server.getClientCapabilities();
    this.#round = clientCapabilities ? { clientCapabilities: { ...clientCapabilities } } : {};
  }

  /** Nobody is left to be answered. */
  close(): void {
    this.#server = undefined;
    for (const end of this.#calls.values()) end('the connection was closed');
    this.#calls.clear();
  }

  #take(message: JSONRPCMessage): boolean {
    const server = this.#server;
    if (!server || !('method' in message)) return false;
    if (message.method === 'notifications/cancelled' && !('id' in message))
      return this.#cancel(message.params);
    if (message.method !== 'tools/call' || !isPlainCall(message) || this.#calls.has(message.id)) return false;
    void this.#answer(server, message);
    return true;
  }

  #cancel(params: Record<string, unknown> | undefined): boolean {
    const id = params?.requestId as RequestId;
    const end = this.#calls.get(id);
    this.#calls.delete(id);
    end?.(params?.reason);
    return end !== undefined;
  }

  async #answer(server: Server, { id, params }: CallMessage): Promise<void> {
    const { tools, running, heartbeatMs } = this.#options;
    const ended = tools.status.callStarted(String(params.name));
    const { answer, end } = running.start((signal) =>
      answerCall(server, tools, this.#clientCall(server, params, signal), heartbeatMs),
    );
    this.#calls.set(id, end);
    let reply: JSONRPCMessage;
    try {
      reply = { result: await answer, jsonrpc: '2.0', id };
    } catch (thrown) {
      reply = { jsonrpc: '2.0', id, error: errorOf(thrown) };
    }
    ended();
    // One that was cancelled gets no answer.
    if (this.#calls.get(id) !== end) return;
    this.#calls.delete(id);
    this.#wire?.send(reply).catch((error) => this.#wire?.onerror?.(error));
  }

  #clientCall(
    server: Server,
    { name, arguments: args, _meta }: CallMessage['params'],
    signal: AbortSignal,
  ): ClientCall {
    const token = _meta?.progressToken;
    return {
      name,
      arguments: args,
      progressToken: typeof token === 'string' || typeof token === 'number' ? token : undefined,
      signal,
      round: this.#round,
      isModern: false,
      notify: (params) => {
        if (signal.aborted) return;
        this.#wire?.send({ jsonrpc: '2.0', method: 'notifications/progress', params }).catch(() => {});
      },
      ask: (request, options) => server.request(request, untouched, options),
    };
  }
}

/** What is beyond the plain form of those revisions is left to the SDK to judge. */
function isPlainCall(message: object): message is CallMessage {
  const { id, params, jsonrpc } = message as { id?: unknown; params?: unknown; jsonrpc?: unknown };
  if ((typeof id !== 'string' && !Number.isSafeInteger(id)) || jsonrpc !== '2.0' || !isRecord(params))
    return false;
  for (const field in params) if (!plainFields.has(field)) return false;
  const { _meta } = params;
  return _meta === undefined || (isRecord(_meta) && isPlainMeta(_meta));
}

const plainFields = new Set(['name', 'arguments', '_meta']);

function isPlainMeta(meta: Record<string, unknown>): boolean {
  for (const key in meta) if (key.startsWith('io.modelcontextprotocol/')) return false;
  return true;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As the SDK words what a handler throws. */
function errorOf(thrown: unknown) {
  const { code, data } = isRecord(thrown) ? thrown : {};
  return {
    code: wireCode(code),
    message: messageOf(thrown),
    ...(data !== undefined && { data }),
  };
}

function wireCode(code: unknown): number {
  if (code === retiredNotFound) return ProtocolErrorCode.InvalidParams;
  return Number.isSafeInteger(code) ? (code as number) : ProtocolErrorCode.InternalError;
}
