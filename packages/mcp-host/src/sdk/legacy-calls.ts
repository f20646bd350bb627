import {
  type JSONRPCMessage,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type Transport,
} from '@modelcontextprotocol/client';
import type { RequestLimits, ToolProgress } from './connect-server.ts';

/** Far above the ids that the SDK counts for its own requests, and small enough for servers that keep them in 32 bits. */
const firstId = 1_000_000_000;

interface OpenCall {
  resolve: (result: Record<string, unknown>) => void;
  reject: (error: unknown) => void;
  onProgress: ((progress: ToolProgress) => void) | undefined;
  signal: AbortSignal;
  onAbort: () => void;
  timer: NodeJS.Timeout;
}

/**
 * Makes calls of the revisions up to 2025-11-25 over a transport that the SDK's client is connected to, beside that client,
 * which checks each message against schemas several times and so costs more than the rest of a call. Errors are the SDK's
 * own, in the same cases.
 */
export class CallLane {
  readonly #transport: Transport;
  readonly #calls = new Map<number, OpenCall>();
  #nextId = firstId;

  constructor(transport: Transport) {
    this.#transport = transport;
    const { onmessage, onclose } = transport;
    transport.onmessage = (message, extra) => {
      if (!this.#take(message)) onmessage?.(message, extra);
    };
    transport.onclose = () => {
      onclose?.();
      for (const id of [...this.#calls.keys()]) {
        this.#end(id)?.reject(new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed'));
      }
    };
  }

  /** The whole result as the server sent it, but for `resultType`, which those revisions don't know. */
  call(
    params: { name: string; arguments: Record<string, unknown> },
    { timeoutMs, signal }: RequestLimits,
    onProgress: ((progress: ToolProgress) => void) | undefined,
  ): Promise<Record<string, unknown>> {
    if (signal.aborted) return Promise.reject(givenUp(signal.reason));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#giveUp(id, signal.reason);
      const timer = setTimeout(this.#timeOut, timeoutMs, id);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#calls.set(id, { resolve, reject, onProgress, signal, onAbort, timer });
      const sent = onProgress ? { ...params, _meta: { progressToken: id } } : params;
      this.#transport
        .send({ method: 'tools/call', params: sent, jsonrpc: '2.0', id })
        .catch((error) => this.#end(id)?.reject(error));
    });
  }

  /** True for messages about calls of ours, also those that have ended. */
  #take(message: JSONRPCMessage): boolean {
    if ('method' in message) return message.method === 'notifications/progress' && this.#progress(message);
    const { id } = message;
    if (typeof id !== 'number' || id < firstId || id >= this.#nextId) return false;
    const call = this.#end(id);
    if (!call) return true;
    if ('result' in message && isRecord(message.result)) call.resolve(withoutResultType(message.result));
    else if ('error' in message && isAnsweredError(message.error)) {
      const { code, message: text, data } = message.error;
      call.reject(ProtocolError.fromError(code, text, data));
    } else {
      call.reject(new SdkError(SdkErrorCode.InvalidResult, 'the answer is neither a result nor an error'));
    }
    return true;
  }

  #progress({ params }: { params?: Record<string, unknown> | undefined }): boolean {
    const token = params?.progressToken;
    if (typeof token !== 'number' || token < firstId || token >= this.#nextId) return false;
    const { progress, total, message } = params as Partial<ToolProgress>;
    if (typeof progress !== 'number') return true;
    this.#calls.get(token)?.onProgress?.({
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message }),
    });
    return true;
  }

  readonly #timeOut = (id: number): void => this.#giveUp(id, 'the request timed out');

  #giveUp(id: number, reason: unknown): void {
    const call = this.#end(id);
    if (!call) return;
    const params = { requestId: id, reason: String(reason) };
    this.#transport
      .send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      .catch((error) => this.#transport.onerror?.(error));
    call.reject(givenUp(reason));
  }

  #end(id: number): OpenCall | undefined {
    const call = this.#calls.get(id);
    if (!call) return undefined;
    this.#calls.delete(id);
    clearTimeout(call.timer);
    call.signal.removeEventListener('abort', call.onAbort);
    return call;
  }
}

function givenUp(reason: unknown): SdkError {
  return new SdkError(SdkErrorCode.RequestTimeout, String(reason));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isAnsweredError(error: unknown): error is { code: number; message: string; data?: unknown } {
  return isRecord(error) && Number.isSafeInteger(error.code) && typeof error.message === 'string';
}

function withoutResultType(result: Record<string, unknown>): Record<string, unknown> {
  if (!('resultType' in result)) return result;
  const { resultType: _resultType, ...rest } = result;
  return rest;
}
