import { mayRepeat, messageOf, type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { CheckedArguments } from '@signalbox/serving';
import {
  type CallOptions,
  cancelledCall,
  type Failure,
  gaveUp,
  type ToolCallResult,
} from '../../tool-calls/index.ts';
import type { Capability } from '../document/compile-capability.ts';
import { type CapabilityFetch, callProvider } from './call-provider.ts';

/** One line for the log. `event` names the event, the other fields are its facts. */
export interface CapabilityEvent {
  event: string;
  [fact: string]: unknown;
}

/** The dependencies of a call. */
export interface CallDeps {
  fetch: CapabilityFetch;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Returns a new id for a request. */
  nextId: () => string;
  log: (event: CapabilityEvent) => void;
}

/** Checks the arguments of a call, and adds the values of properties that the caller leaves out. */
export function checkCapabilityArguments(
  { check, defaults }: Capability,
  args: Record<string, unknown>,
): CheckedArguments {
  const checked = check.check(args);
  if ('error' in checked || Object.keys(defaults).length === 0) return checked;
  return { ...checked, args: { ...defaults, ...checked.args } };
}

/**
 * Calls a tool with arguments that were checked: looks into the cache if the tool has one, and asks the providers in their order until one
 * answers. Never rejects.
 */
export async function callCapability(
  capability: Capability,
  args: Record<string, unknown>,
  options: CallOptions,
  deps: CallDeps,
): Promise<ToolCallResult> {
  const { tool, cache } = capability;
  const deadline = deps.now() + options.timeoutMs;
  try {
    if (!cache) return await callProviders(capability, args, options, deadline, deps);
    const key = { tool: tool.name, args, scope: '' };
    return await cache.fetch(key, options, async (signal) => {
      const ended = await callProviders(capability, args, { ...options, signal }, deadline, deps);
      return 'error' in ended ? { ...ended, isCallersOwn: true } : ended;
    });
  } catch (error) {
    deps.log({ event: 'capability_panicked', tool: tool.name, message: messageOf(error) });
    const message = `the call of '${tool.name}' failed inside the gateway`;
    return { error: toolCallError('tool_panicked', message, { mayHaveRun: true }) };
  }
}

async function callProviders(
  capability: Capability,
  values: Record<string, unknown>,
  options: CallOptions,
  deadline: number,
  deps: CallDeps,
): Promise<ToolCallResult> {
  const { tool, providers } = capability;
  const { repeatable = mayRepeat(tool, true) } = options;
  const failures: string[] = [];
  let wasSent = false;
  let last: ToolCallError | undefined;
  for (const provider of providers) {
    const timeoutMs = deadline - deps.now();
    const stop = outOfTime(tool, options, timeoutMs);
    if (stop) return { error: withEarlierFailures(last ?? stop, failures, wasSent) };
    const id = deps.nextId();
    const call = { capability, values, options, repeatable, timeoutMs, id, fetch: deps.fetch };
    const ended = await callProvider(provider, call);
    if ('result' in ended) return ended;
    last = withEarlierFailures(ended.error, failures, wasSent);
    const { failure } = ended;
    if (!failure || !mayTryNext(failure, tool, repeatable)) break;
    const { kind, reason } = failure;
    wasSent ||= kind !== 'not_sent';
    failures.push(`${provider.host}: ${reason}`);
    if (provider !== providers.at(-1)) {
      deps.log({ event: 'capability_fell_back', tool: tool.name, from: provider.host, message: reason });
    }
  }
  return { error: last! };
}

/** Tells whether the next provider may be asked. That repeats the call, unless the first provider has never seen it. */
function mayTryNext({ kind }: Failure, tool: Tool, repeatable: boolean): boolean {
  if (kind === 'bad_answer') return false;
  return kind === 'not_sent' ? mayRepeat(tool, false) : repeatable;
}

function outOfTime(tool: Tool, { signal }: CallOptions, timeoutMs: number): ToolCallError | undefined {
  if (gaveUp(signal)) return cancelledCall(tool, false);
  if (!signal.aborted && timeoutMs > 0) return undefined;
  return toolCallError('tool_timeout', 'the deadline passed before a provider was asked', {
    mayHaveRun: false,
  });
}

function withEarlierFailures(
  error: ToolCallError,
  failures: readonly string[],
  wasSent: boolean,
): ToolCallError {
  if (failures.length === 0) return error;
  const causes = [...(error.cause_chain ?? []), ...failures];
  return { ...error, may_have_run: error.may_have_run || wasSent, cause_chain: causes };
}
