import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server';
import type { CancelSignal } from '@signalbox/client';
import { type CallRound, isJsonObject, messageOf } from '@signalbox/protocol';
import { PassingMap } from '@signalbox/serving';
import { type AnswerDeps, type ClientCall, startCall } from './answer-call.ts';
import { questionGuard, untouched } from './legacy-input.ts';

/** A `tools/call` of the revisions up to 2025-11-25. */
interface CallMessage {
  method: 'tools/call';
  id: RequestId;
  params: { name: unknown; arguments?: unknown; _meta?: Record<string, unknown> };
}

/**
 * Answers the tool calls of one connection itself, in front of the SDK's server, which gets every other message. Only for
 * connections of the revisions up to 2025-11-25, where a call is a plain JSON-RPC request.
 *
 * The SDK's server checks each message against schemas several times, which costs more processor time than the rest of the
 * worker's part of a call (ADR 10). Checked with SDK 2.4.0; measure again with the next version, and delete this file if the
 * SDK's server costs little more by then.
 */
export class DirectCalls {
  readonly #deps: AnswerDeps;
  /** Aborts the calls that run, by the id of their request. */
  readonly #aborts = new PassingMap<(reason: unknown) => void, RequestId>();
  #server: Server | undefined;
  /** The kinds of input that the client can be asked for. It declares them once, at the beginning of the session. */
  #round: CallRound = {};
  #client: string | undefined;
  #transport: Transport | undefined;
  #beforeQuestion: (() => void) | undefined;

  constructor(deps: AnswerDeps) {
    this.#deps = deps;
  }

  /** Reads the transport's messages before the SDK's server does. Call it when the server is connected to the transport. */
  attach(transport: Transport): void {
    this.#transport = transport;
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => {
      if (!this.#take(message)) onmessage?.(message, extra);
    };
  }

  /** Begins to take calls, because the session is set up. */
  open(server: Server): void {
    this.#server = server;
    this.#beforeQuestion = questionGuard(server);
    this.#client = server.getClientVersion()?.name;
    const clientCapabilities = server.getClientCapabilities();
    this.#round = {
      isOlderClient: true,
      ...(clientCapabilities && { clientCapabilities: { ...clientCapabilities } }),
    };
  }

  /** Forgets all calls: the connection is closed, and no answer can be sent. */
  close(): void {
    this.#server = undefined;
    this.#aborts.clear();
  }

  #take(message: JSONRPCMessage): boolean {
    const server = this.#server;
    if (!server || !('method' in message)) return false;
    if (message.method === 'notifications/cancelled' && !('id' in message))
      return this.#cancel(message.params);
    if (!isPlainCall(message) || this.#aborts.has(message.id)) return false;
    void this.#answer(server, message);
    return true;
  }

  #cancel(params: Record<string, unknown> | undefined): boolean {
    const id = params?.requestId as RequestId;
    const abort = this.#aborts.take(id);
    abort?.(params?.reason);
    return abort !== undefined;
  }

  async #answer(server: Server, { id, params }: Pick<CallMessage, 'id' | 'params'>): Promise<void> {
    const { answer, abort } = startCall(server, this.#deps, (signal) =>
      this.#clientCall(server, { id, params }, signal),
    );
    this.#aborts.add(id, abort);
    let reply: JSONRPCMessage;
    try {
      reply = { result: await answer, jsonrpc: '2.0', id };
    } catch (thrown) {
      reply = { jsonrpc: '2.0', id, error: errorOf(thrown) };
    }
    // A cancelled call gets no answer.
    if (this.#aborts.get(id) !== abort) return;
    this.#aborts.take(id);
    this.#transport?.send(reply).catch((error) => this.#transport?.onerror?.(error));
  }

  #clientCall(
    server: Server,
    { id, params: { name, arguments: args, _meta } }: Pick<CallMessage, 'id' | 'params'>,
    signal: CancelSignal,
  ): ClientCall {
    const token = _meta?.progressToken;
    const tell = (method: string, params: Record<string, unknown>): void => {
      if (signal.aborted) return;
      this.#transport?.send({ jsonrpc: '2.0', method, params }, { relatedRequestId: id }).catch(() => {});
    };
    return {
      id,
      name,
      arguments: args,
      client: this.#client,
      meta: _meta,
      progressToken: typeof token === 'string' || typeof token === 'number' ? token : undefined,
      signal,
      round: this.#round,
      key: this.#deps.keyOf?.(id),
      isModern: false,
      logLevel: this.#deps.logs?.level,
      notify: (params) => tell('notifications/progress', params),
      notifyLog: (message) => tell('notifications/message', { ...message }),
      ask: (request, options) => {
        this.#beforeQuestion?.();
        return server.request(request, untouched, { ...options, relatedRequestId: id });
      },
    };
  }
}

const plainFields = new Set(['name', 'arguments', '_meta']);

/** Returns true if a call has only the fields of those revisions; the SDK's server handles all other calls. */
export function isPlainCall(message: object): message is CallMessage {
  const { method, id, params, jsonrpc } = message as Record<string, unknown>;
  if (method !== 'tools/call') return false;
  if ((typeof id !== 'string' && !Number.isSafeInteger(id)) || jsonrpc !== '2.0' || !isJsonObject(params))
    return false;
  for (const field in params) if (!plainFields.has(field)) return false;
  const { _meta } = params;
  return _meta === undefined || (isJsonObject(_meta) && isPlainMeta(_meta));
}

function isPlainMeta(meta: Record<string, unknown>): boolean {
  for (const key in meta) if (key.startsWith('io.modelcontextprotocol/')) return false;
  return true;
}

/**
 * Makes the same error of a call's exception as the SDK's server does, except for -32002: these revisions know that code, and the SDK
 * replaces it.
 */
export function errorOf(thrown: unknown) {
  const { code, data } = isJsonObject(thrown) ? thrown : {};
  return {
    code: wireCode(code),
    message: messageOf(thrown),
    ...(data !== undefined && { data }),
  };
}

function wireCode(code: unknown): number {
  return Number.isSafeInteger(code) ? (code as number) : ProtocolErrorCode.InternalError;
}
