import {
  agentOfToken,
  isLoopback,
  permissionsOfRole,
  SignalboxError,
  servesCalls,
} from '@signalbox/protocol';
import { parseBrokerAddresses } from '@signalbox/protocol/internal';
import { type ExecutorOptions, McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { FaceHello } from './face-lines.ts';

/** The connection options of a shared face to its broker. */
export interface ShimAgentOptions {
  /** The options of the connections; token, agent and consumer come from the shim. */
  connect: Omit<ExecutorOptions, 'token' | 'agent' | 'consumer' | 'signal' | 'waitForBroker' | 'renewToken'>;
  /** Further addresses of the same broker, under which shims may know it. */
  aliases: readonly string[];
  /** The longest time for a connection to the broker and its list of tools, in milliseconds. */
  connectTimeoutMs: number;
}

/** Connects the agent of a hello to the broker. Rejects with `SignalboxError`; `wrong_broker` means another face, or none. */
export async function connectShimAgent(
  hello: FaceHello,
  { connect, aliases, connectTimeoutMs }: ShimAgentOptions,
  ending: AbortSignal,
): Promise<McpProxyExecutor> {
  if (hello.url !== undefined && !isServed(hello.url, [connect.url, ...aliases])) {
    throw new SignalboxError('wrong_broker', `this face serves the broker at ${connect.url}`);
  }
  const agent = hello.agent ?? agentOfToken(hello.token);
  if (agent === undefined) {
    throw new SignalboxError(
      'usage',
      'the token does not say which agent it is for; name the agent in the hello',
    );
  }
  const timeLimit = new AbortController();
  const timer = setTimeout(() => timeLimit.abort(), connectTimeoutMs);
  const giveUp = () => timeLimit.abort();
  ending.addEventListener('abort', giveUp, { once: true });
  if (ending.aborted) giveUp();
  const { orchestrator = connect.orchestrator, timeout_ms: timeoutMs = connect.timeoutMs } = hello.options;
  const thread = hello.options.turn?.thread;
  let executor: McpProxyExecutor;
  try {
    executor = await McpProxyExecutor.connect({
      ...connect,
      ...(orchestrator !== undefined && { orchestrator }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(thread !== undefined && { thread }),
      token: hello.token,
      agent,
      consumer: hello.consumer,
      signal: timeLimit.signal,
      // Half of the time, so that the error can name the missing part: the orchestrator, not the broker.
      manifestTimeoutMs: connectTimeoutMs / 2,
    });
  } catch (thrown) {
    if (ending.aborted) throw new SignalboxError('shutting_down', 'this face is ending', { retryable: true });
    if (!timeLimit.signal.aborted) throw thrown;
    const message = `the broker at ${connect.url} does not answer`;
    throw new SignalboxError('unreachable', message, { retryable: true, cause: thrown });
  } finally {
    clearTimeout(timer);
    ending.removeEventListener('abort', giveUp);
  }
  if (permissionsOfRole(executor.role).length === 0 && !servesCalls(executor.role)) return executor;
  const message = `this is the ${executor.role}'s token; a worker needs its own`;
  await executor.close();
  throw new SignalboxError('forbidden', message);
}

/** Returns true if one of the addresses that a shim was given is one of the face's own. */
function isServed(told: string, own: readonly string[]): boolean {
  const served = new Set(own.flatMap(comparable));
  return comparable(told).some((address) => served.has(address));
}

/** Normalises the addresses of a text so that those which lead to one broker are equal. All names of this machine count as one. */
function comparable(text: string): string[] {
  try {
    return parseBrokerAddresses(text, { insecure: true }).map(({ url, socketPath }) => {
      if (socketPath !== undefined) return url;
      const { protocol, hostname, host, port, pathname, search } = new URL(url);
      const isOwn = isLoopback(hostname);
      return `${protocol}//${isOwn ? `this-machine:${port}` : host}${pathname}${search}`;
    });
  } catch {
    return [text];
  }
}
