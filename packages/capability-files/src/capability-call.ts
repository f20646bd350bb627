import { type CallOptions, cancelledCall, gaveUp, type ToolCallResult } from '@signalbox/mcp-host';
import { mayRepeat, messageOf, type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { Capability } from './capability.ts';
import type { Provider } from './provider.ts';
import { type CapabilityFetch, callProvider, type Try } from './provider-call.ts';

/** What calls need of the world around them. */
export interface CallSurroundings {
  fetch: CapabilityFetch;
  /** Monotonic milliseconds. */
  now: () => number;
  /** A new number for a request. */
  nextId: () => string;
  log: (event: { event: string; [fact: string]: unknown }) => void;
}

/** Calls a tool: its arguments checked, from the cache if it has one, else from its providers in their order. Never rejects. */
export async function callCapability(
  capability: Capability,
  args: Record<string, unknown>,
  options: CallOptions,
  around: CallSurroundings,
): Promise<ToolCallResult> {
  const { tool, check, cache, ttlMs } = capability;
  const deadline = around.now() + options.timeoutMs;
  const run = (checked: Record<string, unknown>, signal: AbortSignal) =>
    callProviders(capability, checked, { ...options, signal }, { ...around, deadline });
  try {
    const checked = check.check(args);
    if ('error' in checked) return checked;
    if (checked.coerced.length > 0) {
      around.log({ event: 'arguments_coerced', tool: tool.name, pointers: checked.coerced });
    }
    if (!cache) return await run(checked.args, options.signal);
    const key = { tool: tool.name, args: checked.args, scope: '' };
    return await cache.fetch(key, options.signal, async (signal) => {
      const outcome = await run(checked.args, signal);
      return { outcome, ttlMs, public: true, shareable: !('error' in outcome) };
    });
  } catch (error) {
    around.log({ event: 'capability_panicked', tool: tool.name, message: messageOf(error) });
    return {
      error: toolCallError('tool_panicked', `the call of '${tool.name}' failed inside the gateway`, {
        mayHaveRun: true,
      }),
    };
  }
}

async function callProviders(
  capability: Capability,
  args: Record<string, unknown>,
  options: CallOptions,
  around: CallSurroundings & { deadline: number },
): Promise<ToolCallResult> {
  const { tool, defaults, providers } = capability;
  const { repeatable = mayRepeat(tool, true) } = options;
  const values = { ...defaults, ...args };
  const failures: string[] = [];
  let wasSent = false;
  let last: ToolCallError | undefined;
  for (const provider of providers) {
    const timeoutMs = around.deadline - around.now();
    const stop = outOfTime(tool, options, timeoutMs);
    if (stop) return { error: withEarlier(last ?? stop, failures, wasSent) };
    const call = {
      capability,
      values,
      options,
      repeatable,
      timeoutMs,
      id: around.nextId(),
      fetch: around.fetch,
    };
    const ended = await callProvider(provider, call);
    if ('result' in ended) return ended;
    last = withEarlier(ended.error, failures, wasSent);
    if (!mayTryNext(ended, tool, repeatable)) break;
    wasSent ||= ended.failure?.kind !== 'not_sent';
    failures.push(`${provider.host}: ${ended.failure?.reason}`);
    if (provider !== providers.at(-1)) logFallback(around, tool, provider, ended);
  }
  return { error: last! };
}

/** Another provider is a repetition, unless this one never got to know of the call. */
function mayTryNext(ended: Exclude<Try, { result: unknown }>, tool: Tool, repeatable: boolean): boolean {
  if (!ended.failure || ended.failure.kind === 'bad_answer') return false;
  return ended.failure.kind === 'not_sent' ? mayRepeat(tool, false) : repeatable;
}

function outOfTime(tool: Tool, { signal }: CallOptions, timeoutMs: number): ToolCallError | undefined {
  if (gaveUp(signal)) return cancelledCall(tool, false);
  if (!signal.aborted && timeoutMs > 0) return undefined;
  return toolCallError('tool_timeout', 'there was no time left', { mayHaveRun: false });
}

function withEarlier(error: ToolCallError, failures: readonly string[], wasSent: boolean): ToolCallError {
  if (failures.length === 0) return error;
  const causes = [...(error.cause_chain ?? []), ...failures];
  return { ...error, may_have_run: error.may_have_run || wasSent, cause_chain: causes };
}

function logFallback(
  { log }: CallSurroundings,
  tool: Tool,
  { host }: Provider,
  { failure }: Exclude<Try, { result: unknown }>,
): void {
  log({ event: 'capability_fell_back', tool: tool.name, from: host, message: failure?.reason });
}
