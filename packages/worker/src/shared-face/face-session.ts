import type { Socket } from 'node:net';
import type { Log } from '@signalbox/client';
import {
  agentOfToken,
  type FaceLimits,
  isLoopback,
  jsonLine,
  messageOf,
  parseBrokerAddress,
  permissionsOfRole,
  SignalboxError,
} from '@signalbox/protocol';
import { type ExecutorOptions, McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { type McpFace, type McpFaceOptions, serveMcpFace } from '../face/stdio-face.ts';
import type { RequestRoom } from '../http/request-room.ts';
import { StdioTransport } from '../sdk/stdio-transport.ts';
import type { SessionPlace } from './agent-places.ts';
import type { AgentShare } from './agent-shares.ts';
import { CallLines, invalidRequest, noRoom, refusal } from './call-lines.ts';
import type { FaceHello, FaceLine, FaceRefusal } from './face-lines.ts';
import { createLineGate, unitsOf } from './line-gate.ts';

/** The longest prefix of a line, before the JSON of its message. */
const prefixBytes = 32;
/** The time in which written lines must leave at the end. */
const farewellMs = 2_000;

/** Options of the sessions of a shared face: their way to the broker, and their tools. */
export interface FaceSessionOptions {
  /** The way to the broker; token, agent and consumer come from the shim. */
  connect: Omit<ExecutorOptions, 'token' | 'agent' | 'consumer' | 'signal' | 'waitForBroker' | 'renewToken'>;
  /** Further addresses of the same broker, under which shims may know it. */
  aliases: readonly string[];
  /** Options of the MCP server of each session. */
  face: Omit<
    McpFaceOptions,
    'streams' | 'transport' | 'consumerId' | 'keyOf' | 'mentioned' | 'toolList' | 'onListed' | 'log'
  >;
  limits: FaceLimits;
  /** Bounds what the calls of all sessions take in memory. */
  room: RequestRoom;
  /** Returns monotonic milliseconds. */
  now: () => number;
  /** The longest time for a connection to the broker and its list of tools, in milliseconds. */
  connectTimeoutMs: number;
  log: Log;
}

/** One shim that was welcomed. */
export interface FaceSession {
  readonly agent: string;
  readonly consumer: string;
  /** Returns whether its shim has shown this token for this agent. */
  isOf(holder: { agent: string; token: string }): boolean;
  /** Returns a hint at mail that the agent was not told of yet, which counts as telling it. */
  newMailHint: McpFace['newMailHint'];
  /** Resolves when the session has ended and has released its connections. */
  readonly closed: Promise<void>;
  /**
   * Ends the session but not its calls: the shim is told why, and the next face picks up what it repeats.
   */
  end(reason: FaceRefusal): Promise<void>;
}

/** Connects the agent of a hello to the broker. Rejects with `SignalboxError`; `wrong_broker` means another face, or none. */
export async function connectAgent(
  hello: FaceHello,
  options: FaceSessionOptions,
  ending: AbortSignal,
): Promise<McpProxyExecutor> {
  const { connect, aliases, connectTimeoutMs } = options;
  if (hello.url !== undefined && ![connect.url, ...aliases].some((own) => isSameBroker(own, hello.url!))) {
    throw new SignalboxError('wrong_broker', `this face serves the broker at ${connect.url}`);
  }
  const agent = hello.agent ?? agentOfToken(hello.token);
  if (agent === undefined) {
    throw new SignalboxError('usage', 'the token does not say which agent it is for');
  }
  const timeLimit = new AbortController();
  const timer = setTimeout(() => timeLimit.abort(), connectTimeoutMs);
  const giveUp = () => timeLimit.abort();
  ending.addEventListener('abort', giveUp, { once: true });
  if (ending.aborted) giveUp();
  const { orchestrator = connect.orchestrator, timeout_ms: timeoutMs = connect.timeoutMs } = hello.options;
  let executor: McpProxyExecutor;
  try {
    executor = await McpProxyExecutor.connect({
      ...connect,
      ...(orchestrator !== undefined && { orchestrator }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      token: hello.token,
      agent,
      consumer: hello.consumer,
      signal: timeLimit.signal,
      // Less than all of the time, so that what is missing can be told: the orchestrator, not the broker.
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
  if (permissionsOfRole(executor.role).length === 0 && executor.role !== 'orchestrator') return executor;
  const message = `this is the ${executor.role}'s token; a worker needs its own`;
  await executor.close();
  throw new SignalboxError('forbidden', message);
}

/** Serves MCP to a shim whose agent is connected, until one of them ends. The executor is closed with the session. */
export function openSession(
  socket: Socket,
  hello: FaceHello,
  executor: McpProxyExecutor,
  options: FaceSessionOptions & Pick<SessionPlace, 'mentioned'> & { share: AgentShare; onListed: () => void },
): FaceSession {
  const { limits, room, share, log } = options;
  const { agent, role } = executor;
  const lines = new CallLines({
    consumer: hello.consumer,
    takeRoom: (characters) => {
      const place = room.place(agent);
      return place.take({ requests: 1, bytes: characters })?.message ?? place;
    },
    onLeaving: (characters) => {
      share.turns.spend(unitsOf(characters) - 1);
      share.boundUnread();
    },
    onWithdrawn: (id, { tool, asked }) => {
      if (tool === undefined) return;
      executor.client.cancel(asked ?? executor.orchestrator, id);
    },
    tell: (line) => writeLine(socket, line),
  });
  const gate = createLineGate({
    maxLineBytes: limits.bodyBytes + prefixBytes,
    budget: share.bytes,
    turns: share.turns,
    place: room.place(agent),
    now: options.now,
    onLeftOut: ({ id, noRoom: why }) => {
      if (id === undefined) void end(why === undefined ? tooLong(limits) : overfull(why));
      else if (why === undefined) void transport.send(refusal(id, invalidRequest, tooLongText(limits)));
      else void transport.send(refusal(id, noRoom, why));
    },
  });
  const transport = new StdioTransport(gate, socket, lines);
  writeLine(socket, { welcome: { agent, role } });
  const face = serveMcpFace(executor, {
    ...options.face,
    toolList: hello.options.tools ?? 'all',
    transport,
    consumerId: hello.consumer,
    keyOf: (id) => lines.keyOf(id),
    mentioned: options.mentioned,
    onListed: options.onListed,
    log,
  });
  let ending: Promise<void> | undefined;
  async function shutDown(reason: FaceRefusal): Promise<void> {
    // The shim repeats what has no answer: neither a failure nor a cancel may reach anybody for it.
    transport.mute();
    writeLine(socket, { ended: reason });
    closeSocket(socket);
    await executor.close();
    await face.close();
  }
  const end = (reason: FaceRefusal) => {
    ending ??= shutDown(reason);
    return ending;
  };
  void executor.closed.then((reason) =>
    end(refusalOf(reason ?? new SignalboxError('closed', 'the face ends'))),
  );
  const connection = {
    get unreadBytes() {
      return socket.writableLength;
    },
    endUnread: () => void end(unread(limits)),
  };
  share.enter(connection);
  socket.once('close', () => {
    share.leave(connection);
    gate.destroy();
  });
  socket.pipe(gate);
  const closed = face.closed.then(async () => {
    lines.close();
    await ending;
    await executor.close();
    closeSocket(socket);
  });
  return {
    agent,
    consumer: hello.consumer,
    isOf: (holder) => holder.agent === agent && holder.token === hello.token,
    newMailHint: face.newMailHint,
    closed,
    end,
  };
}

/** Writes a line of the face itself. */
export function writeLine(socket: Socket, line: FaceLine): void {
  if (socket.writable) socket.write(`${jsonLine(line)}\n`);
}

/** Closes a connection when what was written has left, or after a while if its client does not read. */
export function closeSocket(socket: Socket): void {
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), farewellMs);
  socket.once('close', () => clearTimeout(timer));
  socket.destroySoon();
}

function tooLongText({ bodyBytes }: FaceLimits): string {
  return `a request may have at most ${bodyBytes} bytes; send less at once, or raise worker.limits.bodyBytes`;
}

function tooLong(limits: FaceLimits): FaceRefusal {
  return { code: 'message_too_large', message: tooLongText(limits), retryable: true };
}

function overfull(message: string): FaceRefusal {
  return { code: 'message_too_large', message, retryable: true };
}

function unread({ unreadBytes }: FaceLimits): FaceRefusal {
  const message = `more than ${unreadBytes} bytes wait for this agent's clients, and this one does not read; see worker.limits.unreadBytes`;
  return { code: 'slow_consumer', message, retryable: true };
}

/** Says in a line why a connection is not served. */
export function refusalOf(thrown: unknown): FaceRefusal {
  if (!(thrown instanceof SignalboxError))
    return { code: 'internal', message: messageOf(thrown), retryable: true };
  const { code, message, retryable, details } = thrown;
  return { code, message, retryable, ...(typeof details.hint === 'string' && { hint: details.hint }) };
}

/** Returns true if two addresses lead to one broker. All names of this machine count as one. */
function isSameBroker(own: string, told: string): boolean {
  return own === told || comparable(own) === comparable(told);
}

function comparable(address: string): string {
  try {
    const { url, socketPath } = parseBrokerAddress(address, { insecure: true });
    if (socketPath !== undefined) return url;
    const { protocol, hostname, host, port, pathname, search } = new URL(url);
    const isOwn = isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'));
    return `${protocol}//${isOwn ? `this-machine:${port}` : host}${pathname}${search}`;
  } catch {
    return address;
  }
}
