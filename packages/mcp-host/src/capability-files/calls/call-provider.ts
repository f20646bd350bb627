import { messageOf, SignalboxError, type ToolCallError, toolCallError } from '@signalbox/protocol';
import { type GuardedInit, networkFailure } from '../../guarded-fetch/index.ts';
import { withTexts } from '../../redaction/index.ts';
import {
  type CallOptions,
  cancelledCall,
  errorOfFailure,
  type Failure,
  gaveUp,
  type ToolCallResult,
  withDeadline,
} from '../../tool-calls/index.ts';
import type { Capability } from '../document/compile-capability.ts';
import type { Provider } from '../document/compile-provider.ts';
import { secretRedactor, withCredential } from '../secrets/credential.ts';
import { readSecret } from '../secrets/secret.ts';
import type { ServiceAnswer, ServiceRequest } from '../services/service.ts';
import type { Values } from '../templates/template.ts';
import { isAboutAccess, judgeStatus } from './response-status.ts';
import { refusal, resultOf } from './tool-result.ts';

/** The type of the `fetch` that `createGuardedFetch` makes. A replacement has to obey the same rules. */
export type CapabilityFetch = (url: string | URL, init?: GuardedInit) => Promise<Response>;

/** One call, and the values that a provider needs for it. */
export interface ProviderCall {
  capability: Capability;
  values: Values;
  options: CallOptions;
  /** True if the call may be made again although it was sent. */
  repeatable: boolean;
  /** The rest of the caller's time, in milliseconds. */
  timeoutMs: number;
  /** Identifies the request in protocols that number them. */
  id: string;
  fetch: CapabilityFetch;
}

const excerptLength = 300;
const timedOut: Failure = { kind: 'timed_out', reason: 'no answer in time' };

/**
 * Calls one provider. If the error has a `failure`, the provider could not be used, and another one may succeed. Never rejects; no error
 * and no result holds a secret.
 */
export async function callProvider(provider: Provider, call: ProviderCall): Promise<ToolCallResult> {
  const prepared = prepareRequest(provider, call);
  if ('error' in prepared) return prepared;
  const { signal, beforeSend } = call.options;
  const refused = await beforeSend?.();
  if (refused) return { error: refused };
  if (gaveUp(signal)) return { error: cancelledCall(call.capability.tool, false) };
  using deadline = withDeadline(signal, Math.min(call.timeoutMs, provider.timeoutMs));
  try {
    return await exchange(provider, call, prepared, deadline.signal);
  } catch (thrown) {
    const failure = deadline.signal.aborted ? timedOut : failureIn(thrown);
    if ('category' in failure) return { error: failure };
    return failedCall(provider, call, { ...failure, reason: prepared.redact(failure.reason) });
  }
}

interface PreparedRequest {
  request: ServiceRequest;
  redact: (text: string) => string;
}

/** Fills in the caller's values first and the secret after them, so that no value can ask for the secret. */
function prepareRequest(
  { service, auth }: Provider,
  { capability, values, id }: ProviderCall,
): PreparedRequest | { error: ToolCallError } {
  try {
    const request = service.request(values, id);
    if (!auth) return { request, redact: (text) => text };
    const secret = readSecret(auth.key, capability.secrets);
    return { request: withCredential(request, auth, secret), redact: secretRedactor(auth, secret) };
  } catch (thrown) {
    if (!(thrown instanceof SignalboxError)) throw thrown;
    if (thrown.code === 'invalid_arguments') {
      return { error: toolCallError('invalid_arguments', thrown.message, { mayHaveRun: false }) };
    }
    const message = `the key of this tool cannot be used: ${thrown.message}`;
    const hint = 'the operator of the gateway must look after the secret; calling again will not help';
    return { error: toolCallError('internal', message, { mayHaveRun: false, hint }) };
  }
}

async function exchange(
  provider: Provider,
  call: ProviderCall,
  { request, redact }: PreparedRequest,
  signal: AbortSignal,
): Promise<ToolCallResult> {
  const { method, url, headers, body } = request;
  const answering = call.fetch(url, {
    method,
    headers: { 'user-agent': 'signalbox', ...headers },
    ...(body !== undefined && { body }),
    signal,
    secretHeaders: provider.secretHeaders,
  });
  call.options.onSent?.();
  const response = await answering;
  const answer: ServiceAnswer = {
    status: response.status,
    mediaType: (response.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase(),
    text: await response.text(),
  };
  const reading = isAboutAccess(answer.status) ? undefined : provider.service.read(answer, call.id);
  if (!reading)
    return resultOfStatus(provider, call, response.headers, { ...answer, text: redact(answer.text) });
  // Secrets are searched for in the parsed texts, because JSON can write a character in several ways.
  const outcome = resultOf(withTexts(reading, redact), provider, call.capability);
  if ('result' in outcome) return outcome;
  return { error: toolCallError('internal', outcome.unusable, { mayHaveRun: true }) };
}

function resultOfStatus(
  provider: Provider,
  call: ProviderCall,
  headers: Headers,
  { status, text }: ServiceAnswer,
): ToolCallResult {
  const excerpt = text.slice(0, excerptLength).replaceAll(/\s+/g, ' ').trim();
  const verdict = judgeStatus(status, headers, excerpt);
  if (verdict === undefined) return { result: refusal(`${provider.host} answered HTTP ${status}: ${text}`) };
  if (verdict !== 'bad_key') return failedCall(provider, call, verdict);
  const hint = provider.auth
    ? `the operator of the gateway must look after ${provider.auth.key}; calling again will not help`
    : 'the service wants a key and this tool has none; the operator of the gateway must add auth to it';
  const message = `${provider.host} refused the access of this tool: HTTP ${status}: ${excerpt}`;
  return { error: toolCallError('internal', message, { mayHaveRun: false, hint }) };
}

function failedCall(
  { host }: Provider,
  { capability: { tool }, options, repeatable }: ProviderCall,
  failure: Failure,
): ToolCallResult {
  const aborted = gaveUp(options.signal);
  const error = errorOfFailure(failure, { server: host, tool, repeatable, aborted });
  return { error, ...(!aborted && { failure }) };
}

/** Returns the failure of a request that threw. A request that the guarded fetch refuses is an error of the call, and no failure. */
function failureIn(thrown: unknown): Failure | ToolCallError {
  if (thrown instanceof SignalboxError) {
    const { code, message, details } = thrown;
    const mayHaveRun = Number(details.hop) > 0;
    if (code === 'network_blocked') return toolCallError('network_blocked', message, { mayHaveRun });
    if (code === 'result_too_large') return toolCallError('result_too_large', message, { mayHaveRun: true });
    return { kind: code === 'not_sent' ? 'not_sent' : 'lost', reason: message };
  }
  const code = tlsCode(thrown);
  if (code !== undefined) return { kind: 'not_sent', reason: `no safe connection (${code})` };
  return networkFailure(thrown) ?? { kind: 'bad_answer', reason: messageOf(thrown) };
}

/** Returns the code of a failed TLS handshake, before which nothing was sent. */
function tlsCode(thrown: unknown): string | undefined {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return /CERT|SSL|TLS/.test(code) ? code.slice(0, 64) : undefined;
}
