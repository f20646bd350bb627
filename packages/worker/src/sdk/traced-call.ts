import { forwardedMeta, isJsonObject, type RequestMeta } from '@signalbox/protocol';
import type { TracedSpan, Tracing } from '@signalbox/serving/tracing';
import { beginToolCall, toolError, validTraceparent } from '@signalbox/serving/tracing/internal';
import type { FaceCall } from '../tools/face-tools.ts';
import { JsonRpcError } from '../tools/json-rpc-error.ts';

/** The tracing that makes the spans of a face's calls, and the facts that all of them record. */
export interface FaceTrace {
  tracing: Tracing;
  agent: string;
  /** The transport to the client: `pipe` for standard input and output. */
  transport: 'pipe' | 'tcp';
}

/** The parts of a call that its span records. */
interface TraceableCall {
  id: string | number;
  name: unknown;
  /** The `_meta` of the client. */
  meta: RequestMeta | undefined;
}

/** The parts of a call that are passed on from its client's `_meta`. */
export type PassedOn = Pick<FaceCall, 'traceparent' | 'meta'>;

/** The parts of a call without `_meta`. */
const nothing: PassedOn = { traceparent: undefined, meta: undefined };

/**
 * Runs a call within its span, if the face makes spans, and hands on the trace context and the `_meta` that are passed on. A
 * `traceparent` that is not valid is dropped, and the `tracestate` with it.
 */
export function runTraced<Result extends Record<string, unknown>>(
  trace: FaceTrace | undefined,
  call: TraceableCall,
  work: (passedOn: PassedOn) => Promise<Result>,
): Promise<Result> {
  const { meta: given } = call;
  if (!trace && given === undefined) return work(nothing);
  const traceparent = validTraceparent(given?.traceparent);
  const meta = forwardedMeta(traceparent === undefined ? withoutState(given) : given);
  const passedOn = { traceparent, meta };
  return trace ? runInSpan(trace, call, passedOn, work) : work(passedOn);
}

async function runInSpan<Result extends Record<string, unknown>>(
  { tracing, agent, transport }: FaceTrace,
  { id, name }: TraceableCall,
  { traceparent: parent, meta }: PassedOn,
  work: (passedOn: PassedOn) => Promise<Result>,
): Promise<Result> {
  const active = tracing.active();
  const span = beginToolCall(tracing, 'server', {
    tool: name,
    transport,
    requestId: id,
    agent,
    parent: parent ?? active,
    links: parent === undefined ? [] : [active],
  });
  try {
    const result = await span.run(() => work({ traceparent: span.traceparent, meta }));
    span.end(errorTypeOf(result));
    return result;
  } catch (thrown) {
    endThrown(span, thrown);
    throw thrown;
  }
}

function withoutState(meta: RequestMeta | undefined): RequestMeta | undefined {
  if (meta?.tracestate === undefined) return meta;
  const { tracestate: _ofNoTrace, ...rest } = meta;
  return rest;
}

const ownCode = /^[a-z_]{1,40}$/;

/**
 * Returns our code of a failure, or a mark that the tool itself reported an error. A tool's server may put any text in the place of our
 * codes.
 */
function errorTypeOf({ isError, _meta }: Record<string, unknown>): string | undefined {
  if (isError !== true) return undefined;
  const error = isJsonObject(_meta) ? _meta['signalbox/error'] : undefined;
  const code = isJsonObject(error) ? error.code : undefined;
  return typeof code === 'string' && ownCode.test(code) ? code : toolError;
}

function endThrown(span: TracedSpan, thrown: unknown): void {
  if (!(thrown instanceof JsonRpcError)) {
    span.end('internal');
    return;
  }
  const code = String(thrown.code);
  span.set({ 'rpc.response.status_code': code });
  span.end(code);
}
