import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Implementation,
  ProtocolErrorCode,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server';
import type { CancelSignal } from '@signalbox/client';
import { isJsonObject, type RequestMeta } from '@signalbox/protocol';
import { type AnswerDeps, type ClientCall, startCall } from './answer-call.ts';
import { errorOf } from './direct-calls.ts';
import { wantedLevel } from './face-server.ts';
import type { HttpReply, RequestId } from './http-reply.ts';
import { type FaceRequest, headerOf } from './http-request.ts';

const revision = '2026-07-28';

/** A `tools/call` of the current revision, which the SDK has found valid. */
interface ModernCall {
  id: RequestId;
  params: { name: string; arguments?: unknown; _meta: RequestMeta };
}

/**
 * Answers the tool calls of clients of the current revision over HTTP, in place of the SDK, which makes a server, a web `Request` and a web
 * `Response` for each of them and checks each against schemas twice (ADR 10). It answers all other requests, and calls with fields beyond
 * the usual ones. Checked with SDK 2.4.0; measure again with the next version.
 */
export class ModernCalls {
  readonly #deps: AnswerDeps;
  readonly #serverInfo: Implementation;

  constructor(deps: AnswerDeps, serverInfo: Implementation) {
    this.#deps = deps;
    this.#serverInfo = serverInfo;
  }

  /** Answers a request that the SDK has found valid if it is a plain call; returns false if the SDK has to answer it. */
  take({ message, headers }: FaceRequest, reply: HttpReply): boolean {
    if (!isPlainCall(message)) return false;
    const { name, _meta } = message.params;
    const repeats =
      headerOf(headers, 'mcp-protocol-version') === revision &&
      headerOf(headers, 'mcp-method') === 'tools/call' &&
      headerOf(headers, 'mcp-name') === name;
    // The SDK opens a stream for progress, even for a client that takes none.
    if (!repeats || (_meta.progressToken !== undefined && !reply.takesEvents)) return false;
    void this.#answer(message, reply);
    return true;
  }

  async #answer({ id, params }: ModernCall, reply: HttpReply): Promise<void> {
    const { answer, abort } = startCall(resultRules, this.#deps, (signal) =>
      clientCall(id, params, { signal, reply }),
    );
    reply.onHangUp = () => abort('the client hung up');
    try {
      reply.json({ result: this.#complete(await answer), jsonrpc: '2.0', id });
    } catch (thrown) {
      const error = errorOf(thrown);
      // This revision has another code for what -32002 says.
      const code = error.code === -32002 ? ProtocolErrorCode.InvalidParams : error.code;
      const status = code === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200;
      reply.json({ jsonrpc: '2.0', id, error: { ...error, code } }, { status });
    }
  }

  /** Adds what each result of this revision says: whether it ends the call, and whose it is. */
  #complete(result: Record<string, unknown>): Record<string, unknown> {
    const { resultType = 'complete', _meta = {} } = result;
    if (!isJsonObject(_meta)) return { ...result, resultType };
    const serverInfo = _meta[SERVER_INFO_META_KEY] ?? this.#serverInfo;
    return { ...result, resultType, _meta: { ..._meta, [SERVER_INFO_META_KEY]: serverInfo } };
  }
}

/** The parts of an SDK server that a call of this revision needs. */
const resultRules = {
  /** Shows clients that read only content a `structuredContent` that is no object, as the SDK does. */
  projectCallToolResult(result: CallToolResult): CallToolResult {
    const { structuredContent: data, content } = result;
    if (data === undefined || isJsonObject(data) || content.some(({ type }) => type === 'text'))
      return result;
    return { ...result, content: [...content, { type: 'text', text: JSON.stringify(data) }] };
  },
  getClientCapabilities: () => undefined,
};

function clientCall(
  id: RequestId,
  { name, arguments: args, _meta: meta }: ModernCall['params'],
  { signal, reply }: { signal: CancelSignal; reply: HttpReply },
): ClientCall {
  const clientCapabilities = meta[CLIENT_CAPABILITIES_META_KEY] as Record<string, unknown>;
  const tell = (method: string, params: object): void => {
    if (!signal.aborted) reply.tell({ jsonrpc: '2.0', method, params });
  };
  return {
    id,
    name,
    arguments: args,
    client: nameOf(meta[CLIENT_INFO_META_KEY]),
    meta,
    progressToken: meta.progressToken as string | number | undefined,
    signal,
    round: { clientCapabilities: { ...clientCapabilities } },
    key: undefined,
    isModern: true,
    logLevel: wantedLevel(meta),
    notify: (params) => tell('notifications/progress', params),
    notifyLog: (message) => tell('notifications/message', message),
    ask: () => Promise.reject(new Error('clients of this revision are asked by results')),
  };
}

function nameOf(client: unknown): string | undefined {
  return isJsonObject(client) && typeof client.name === 'string' ? client.name : undefined;
}

const plainFields = new Set(['name', 'arguments', '_meta']);

function isPlainCall(message: unknown): message is ModernCall {
  const { method, params } = message as { method?: unknown; params?: unknown };
  if (method !== 'tools/call' || !isJsonObject(params)) return false;
  for (const field in params) if (!plainFields.has(field)) return false;
  return typeof params.name === 'string' && isJsonObject(params._meta);
}
