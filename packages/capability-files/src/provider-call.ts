import { type GuardedInit, networkFailure } from '@signalbox/guarded-fetch';
import {
  type CallOptions,
  cancelledCall,
  type Failure,
  gaveUp,
  reportFailure,
  withDeadline,
} from '@signalbox/mcp-host';
import { messageOf, SignalboxError, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { Capability } from './capability.ts';
import { secretRedactor, withCredential } from './credential.ts';
import type { Provider } from './provider.ts';
import { refusal, resultOf } from './result.ts';
import { readSecret } from './secret.ts';
import type { ServiceAnswer, ServiceRequest } from './service.ts';
import { judgeStatus } from './status-rules.ts';
import type { Values } from './template.ts';

/** What `createGuardedFetch` makes; anything that speaks to the network for us keeps its rules. */
export type CapabilityFetch = (url: string | URL, init?: GuardedInit) => Promise<Response>;

/** One call on its way to one provider after the other. */
export interface ProviderCall {
  capability: Capability;
  values: Values;
  options: CallOptions;
  /** Whether it may be made again although it was sent. */
  repeatable: boolean;
  /** Milliseconds that are left of the caller's time. */
  timeoutMs: number;
  /** For protocols that number their requests. */
  id: string;
  fetch: CapabilityFetch;
}

/** How one try ended. `failure`: on the way, so that another provider may do better. */
export type Try = { result: Record<string, unknown> } | { error: ToolCallError; failure?: Failure };

const shown = 300;

/** Asks one provider. Never rejects; secrets are in no error and no result. */
export async function callProvider(provider: Provider, call: ProviderCall): Promise<Try> {
  const { tool } = call.capability;
  const prepared = prepare(provider, call);
  if ('error' in prepared) return prepared;
  const { signal, beforeSend } = call.options;
  const refused = await beforeSend?.();
  if (refused) return { error: refused };
  if (gaveUp(signal)) return { error: cancelledCall(tool, false) };
  using deadline = withDeadline(signal, Math.min(call.timeoutMs, provider.timeoutMs));
  try {
    return await exchange(provider, call, prepared, deadline.signal);
  } catch (thrown) {
    const failure = deadline.signal.aborted ? timedOut : failureIn(thrown);
    if ('category' in failure) return { error: failure };
    return failed(provider, call, { ...failure, reason: prepared.redact(failure.reason) });
  }
}

const timedOut: Failure = { kind: 'timed_out', reason: 'no answer in time' };

interface Prepared {
  request: ServiceRequest;
  redact: (text: string) => string;
}

/** Callers' values go in first and the secret after them, so that none of them can ask for it. */
function prepare(
  { service, auth }: Provider,
  { capability, values, id }: ProviderCall,
): Prepared | { error: ToolCallError } {
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
    const hint = 'whoever runs the gateway must look after the secret; calling again will not help';
    return {
      error: toolCallError('internal', `the key of this tool cannot be used: ${thrown.message}`, {
        mayHaveRun: false,
        hint,
      }),
    };
  }
}

async function exchange(
  provider: Provider,
  call: ProviderCall,
  { request, redact }: Prepared,
  signal: AbortSignal,
): Promise<Try> {
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
    text: redact(await response.text()),
  };
  const said = answer.text.slice(0, shown).replaceAll(/\s+/g, ' ').trim();
  const isAboutKey = [401, 403, 407, 408, 429].includes(answer.status);
  const reading = isAboutKey ? undefined : provider.service.read(answer, call.id);
  if (!reading) return judged(provider, call, response, answer, said);
  const outcome = resultOf(reading, provider, call.capability);
  if ('result' in outcome) return outcome;
  return { error: toolCallError('internal', outcome.unusable, { mayHaveRun: true }) };
}

function judged(
  provider: Provider,
  call: ProviderCall,
  { headers }: Response,
  { status, text }: ServiceAnswer,
  said: string,
): Try {
  const verdict = judgeStatus(status, headers, said);
  if (verdict === undefined) return { result: refusal(`${provider.host} answered HTTP ${status}: ${text}`) };
  if (verdict !== 'bad_key') return failed(provider, call, verdict.failure, verdict.retryAfterSeconds);
  const hint = provider.auth
    ? `whoever runs the gateway must look after ${provider.auth.key}; calling again will not help`
    : 'the service wants a key and this tool has none; whoever runs the gateway must add auth to it';
  const message = `${provider.host} refused the access of this tool: HTTP ${status}: ${said}`;
  return { error: toolCallError('internal', message, { mayHaveRun: false, hint }) };
}

function failed(
  { host }: Provider,
  { capability: { tool }, options, repeatable }: ProviderCall,
  failure: Failure,
  retryAfterSeconds?: number,
): Try {
  const aborted = gaveUp(options.signal);
  const error = reportFailure(failure, { server: host, tool, repeatable, aborted });
  const timed = error.retryable && retryAfterSeconds !== undefined;
  return {
    error: timed ? { ...error, retry_after_seconds: retryAfterSeconds } : error,
    ...(!aborted && { failure }),
  };
}

/** What went wrong on the way; rules that were broken are an error of their own. */
function failureIn(thrown: unknown): Failure | ToolCallError {
  if (thrown instanceof SignalboxError) {
    const seen = thrown.code === 'result_too_large' || Number(thrown.details.hop) > 0;
    if (thrown.code === 'network_blocked')
      return toolCallError('network_blocked', thrown.message, { mayHaveRun: seen });
    if (thrown.code === 'result_too_large')
      return toolCallError('result_too_large', thrown.message, { mayHaveRun: true });
    return { kind: thrown.code === 'not_sent' ? 'not_sent' : 'lost', reason: thrown.message };
  }
  const code = tlsCode(thrown);
  if (code !== undefined) return { kind: 'not_sent', reason: `no safe connection (${code})` };
  return networkFailure(thrown) ?? { kind: 'bad_answer', reason: messageOf(thrown) };
}

/** A handshake that failed, before anything was said. */
function tlsCode(thrown: unknown): string | undefined {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return /CERT|SSL|TLS/.test(code) ? code.slice(0, 64) : undefined;
}
