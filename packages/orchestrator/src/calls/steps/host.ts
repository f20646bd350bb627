import type { ToolProgress } from '@signalbox/mcp-host/tool-calls';
import {
  forwardedMeta,
  fromWireRound,
  type McpLogMessage,
  readJson,
  withoutTokens,
} from '@signalbox/protocol';
import type { LastStep } from '../step.ts';
import { neverStarted } from './queue.ts';

/** The states of a server in which its calls run, or wait for its start. */
const passable: ReadonlySet<string> = new Set(['ready', 'idle', 'queued', 'starting', 'backing_off', 'away']);

/** The states in which a call waits for its server. */
const waiting: ReadonlySet<string> = new Set(['queued', 'starting', 'backing_off', 'away']);

/** Passes a call to its server. The host continues with the cache; see `ServerCalls` of mcp-host. */
export const host: LastStep = {
  name: 'host',
  explain({ route }, { host }) {
    const status = host.servers().find(({ name }) => name === route.server);
    if (!status) return { verdict: 'passes', says: 'no server process is needed' };
    const { name, state, circuit } = status;
    const failsAtOnce = circuit === 'open' || !passable.has(state);
    return {
      verdict: failsAtOnce ? 'refused' : waiting.has(state) ? 'waits' : 'passes',
      says: `server ${name} is ${state.replaceAll('_', ' ')}, and its circuit is ${circuit.replaceAll('_', ' ')}`,
    };
  },
  make({ host, approvals, holds, callTimeoutMs, fault }) {
    return (call) => {
      const { request, body, tracked, route, read, approval, subject } = call;
      const patienceMs = request.remainingMs();
      const timeoutMs = Math.min(
        body.options?.timeout_ms ?? callTimeoutMs,
        patienceMs ?? Number.POSITIVE_INFINITY,
      );
      if (timeoutMs <= 0) return { error: neverStarted(request) };
      if (approval) approvals?.started(approval);
      tracked.running(call.server);
      return host.call(route, read.args, {
        fits: read.fits,
        signal: request.cancellation,
        timeoutMs,
        patienceMs,
        caller: body.hosted?.caller ?? request.message.from,
        repeatable: call.isRepeatable,
        round: body.round && fromWireRound(body.round),
        traceparent: request.traceparent,
        meta: forwardedMeta(body.meta),
        beforeSend: call.beforeSend,
        onAsked: (asking) => {
          const running = holds.runs(asking, subject);
          asking.over.then(() => holds.ended(running));
        },
        onSent: fault && (() => fault('orchestrator.call.sent')),
        logLevel: body.options?.log_level,
        onLogMessage: (message) => request.progress({ log: shownLog(message) }),
        onProgress: body.options?.progress
          ? (progress) => {
              const { progress: done, total } = progress;
              tracked.progress = { progress: done, ...(total !== undefined && { total }) };
              request.progress(withoutTokensIn(progress));
            }
          : undefined,
      });
    };
  },
};

/** The most characters of a log message that its caller gets. */
const maxLogLength = 64 * 1024;

function shownLog(message: McpLogMessage): McpLogMessage {
  const text = withoutTokens(JSON.stringify(message));
  if (text.length <= maxLogLength) return JSON.parse(text);
  return {
    level: message.level,
    data: `the server logged ${text.length} characters, and at most ${maxLogLength} are passed on`,
  };
}

function withoutTokensIn(progress: ToolProgress): ToolProgress {
  const { message, _meta } = progress;
  if (message === undefined && _meta === undefined) return progress;
  return {
    ...progress,
    ...(message !== undefined && { message: withoutTokens(message) }),
    ...(_meta && { _meta: readJson(withoutTokens(JSON.stringify(_meta))) as typeof _meta }),
  };
}
