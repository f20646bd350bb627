import type { JSONRPCMessage, JSONRPCResponse, Transport } from '@modelcontextprotocol/client';
import type { CancelSignal, McpContentMethod } from '@signalbox/protocol';
import { PassingMap, timerMs } from '@signalbox/serving';
import type { ServerAnswer, ToolRequest } from '../server-connection.ts';
import type { ToolProgress } from '../tool-calls/index.ts';
import { progressOf } from './progress-of.ts';
import { answeredFailure, failureOf } from './sdk-failure.ts';

/**
 * The first id of these calls. It is far above those that the SDK counts for its own requests, and small enough for servers that keep ids
 * in 32 bits.
 */
const firstId = 1_000_000_000;

interface OpenCall {
  id: number;
  resolve: (answer: ServerAnswer) => void;
  onProgress: ((progress: ToolProgress) => void) | undefined;
  signal: CancelSignal;
  onAbort: () => void;
  timer: NodeJS.Timeout;
}

const timedOut: ServerAnswer = { failure: { kind: 'timed_out', reason: 'no answer in time' } };
const connectionClosed: ServerAnswer = { failure: { kind: 'lost', reason: 'the connection closed' } };

/**
 * Makes calls of the revisions up to 2025-11-25 over a transport that the SDK's client is connected to, beside that
 * client. Reason: the client of the SDK 2.4.0 checks each message against schemas several times, and so costs more than
 * the rest of a call. Calls fail in the same cases and ways as those of the client.
 */
export class LegacyCalls {
  readonly #transport: Transport;
  readonly #onError: (words: string) => void;
  readonly #calls = new PassingMap<OpenCall, number>();
  #nextId = firstId;

  /** `onError` is called with the words of each error that answers a call. */
  constructor(transport: Transport, onError: (words: string) => void = () => {}) {
    this.#transport = transport;
    this.#onError = onError;
    const { onmessage, onclose } = transport;
    transport.onmessage = (message, extra) => {
      if (!this.#receive(message)) onmessage?.(message, extra);
    };
    transport.onclose = () => {
      onclose?.();
      for (const { id } of this.#calls.values()) this.#end(id)?.resolve(connectionClosed);
    };
  }

  /** Resolves with the whole result as the server sent it, except `resultType`, which those revisions don't know. */
  call(
    method: 'tools/call' | McpContentMethod,
    params: Record<string, unknown>,
    { timeoutMs, signal, onProgress, meta }: ToolRequest,
  ): Promise<ServerAnswer> {
    if (signal.aborted) return Promise.resolve(timedOut);
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const onAbort = () => this.#giveUp(id, signal.reason);
      const timer = setTimeout(this.#onTimeout, timerMs(timeoutMs), id);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#calls.add(id, { id, resolve, onProgress, signal, onAbort, timer });
      const own = onProgress && { progressToken: id };
      const sent = own || meta ? { ...params, _meta: { ...meta, ...own } } : params;
      this.#transport
        .send({ method, params: sent, jsonrpc: '2.0', id })
        .catch((error) => this.#end(id)?.resolve({ failure: failureOf(error) }));
    });
  }

  /** Returns true for messages about calls of ours, also those that have ended. */
  #receive(message: JSONRPCMessage): boolean {
    if ('method' in message) {
      return message.method === 'notifications/progress' && this.#reportProgress(message);
    }
    const { id } = message;
    if (!this.#isOurs(id)) return false;
    if ('error' in message) this.#onError(message.error.message);
    this.#end(id)?.resolve(answerOf(message));
    return true;
  }

  #reportProgress({ params }: { params?: Record<string, unknown> | undefined }): boolean {
    const token = params?.progressToken;
    if (!this.#isOurs(token)) return false;
    const progress = progressOf(params ?? {});
    if (progress) this.#calls.get(token)?.onProgress?.(progress);
    return true;
  }

  #isOurs(id: unknown): id is number {
    return typeof id === 'number' && id >= firstId && id < this.#nextId;
  }

  readonly #onTimeout = (id: number): void => this.#giveUp(id, 'the request timed out');

  #giveUp(id: number, reason: unknown): void {
    const call = this.#end(id);
    if (!call) return;
    const params = { requestId: id, reason: String(reason) };
    this.#transport
      .send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      .catch((error) => this.#transport.onerror?.(error));
    call.resolve(timedOut);
  }

  #end(id: number): OpenCall | undefined {
    const call = this.#calls.take(id);
    if (!call) return undefined;
    clearTimeout(call.timer);
    call.signal.removeEventListener('abort', call.onAbort);
    return call;
  }
}

/** The transport passes on only answers that are a result or an error. */
function answerOf(message: JSONRPCResponse): ServerAnswer {
  if ('result' in message) return { result: withoutResultType(message.result) };
  const { code, message: text, data } = message.error;
  return { failure: answeredFailure(code, text, data) };
}

/** Those revisions have no types of results: a type that a server gives its result is left out. */
function withoutResultType(result: Record<string, unknown>): Record<string, unknown> {
  if (!('resultType' in result)) return result;
  const { resultType: _resultType, ...rest } = result;
  return rest;
}
