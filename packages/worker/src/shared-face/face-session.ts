import type { Socket } from 'node:net';
import type { Transform } from 'node:stream';
import type { Log } from '@signalbox/client';
import { jsonLine, messageOf, SignalboxError } from '@signalbox/protocol';
import type { FaceLimits } from '@signalbox/serving';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { type McpFace, type McpFaceOptions, serveMcpFace } from '../face/stdio-face.ts';
import type { FaceRoom } from '../http/face-room.ts';
import { type JSONRPCMessage, StdioTransport } from '../sdk/stdio-transport.ts';
import type { AgentShare } from './agent-shares.ts';
import type { SessionSlot } from './agent-slots.ts';
import { CallLines, invalidRequest, noRoom, refusal } from './call-lines.ts';
import type { FaceHello, FaceLine, FaceRefusal } from './face-lines.ts';
import { createLineGate, unitsOf } from './line-gate.ts';

/** The longest prefix of a line, before the JSON of its message. */
const prefixBytes = 96;
/** The time in which written lines must leave at the end, in milliseconds. */
const farewellMs = 2_000;

/** Options of the sessions of a shared face. */
export interface FaceSessionOptions {
  /** Options of the MCP server of each session. */
  face: Omit<
    McpFaceOptions,
    | 'streams'
    | 'transport'
    | 'consumerId'
    | 'keyOf'
    | 'mentioned'
    | 'toolList'
    | 'permissions'
    | 'onListed'
    | 'log'
  >;
  limits: FaceLimits;
  /** Bounds the memory of the calls of all sessions. */
  room: FaceRoom;
  /** Returns monotonic milliseconds. */
  now: () => number;
  log: Log;
}

/** One shim that was welcomed. */
export interface FaceSession {
  readonly agent: string;
  readonly consumer: string;
  /** Returns true if its shim has shown this token for this agent. */
  isOf(holder: { agent: string; token: string }): boolean;
  /** Returns a hint at mail that the agent was not told of yet. Returning it counts as telling. */
  newMailHint: McpFace['newMailHint'];
  /** Resolves when the session has ended and has released its connections. */
  readonly closed: Promise<void>;
  /** Ends the session but not its calls: the shim is told why, and the next face continues the calls that it repeats. */
  end(reason: FaceRefusal): Promise<void>;
}

/** Options of one session: those of all sessions, and the parts that its agent and its process share between their connections. */
type OwnOptions = FaceSessionOptions &
  Pick<SessionSlot, 'mentioned'> & { share: AgentShare; onListed: () => void };

/** Serves MCP to a shim whose agent is connected, until one of them ends. The executor is closed with the session. */
export function openSession(
  socket: Socket,
  hello: FaceHello,
  executor: McpProxyExecutor,
  options: OwnOptions,
): FaceSession {
  const { limits, share, log } = options;
  const { agent, role } = executor;
  const lines = callLines(socket, hello, executor, options);
  const gate = requestGate(agent, options, {
    refuse: (answer) => void transport.send(answer),
    end: (reason) => void end(reason),
  });
  const transport = new StdioTransport(gate, socket, lines);
  writeLine(socket, { welcome: { agent, role } });
  executor.client.onLane((epoch) => writeLine(socket, { epoch: epoch ?? null }));
  const face = serveMcpFace(executor, {
    ...options.face,
    toolList: hello.options.tools ?? 'all',
    permissions: hello.options.permissions,
    ...(hello.options.turn && { turn: hello.options.turn }),
    transport,
    consumerId: hello.consumer,
    keyOf: (id) => lines.keyOf(id),
    mentioned: options.mentioned,
    onListed: options.onListed,
    log,
  });
  let ending: Promise<void> | undefined;
  async function shutDown(reason: FaceRefusal): Promise<void> {
    // The shim repeats requests without an answer: neither a failure nor a cancel of them may reach anyone.
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

/** Makes the lines of a shim. Its calls, and the messages that its withdrawn calls cause, count for its agent. */
function callLines(
  socket: Socket,
  { consumer }: FaceHello,
  { agent, client, orchestrator }: McpProxyExecutor,
  { room, share }: OwnOptions,
): CallLines {
  return new CallLines({
    consumer,
    takeRoom: (characters) => {
      const slot = room.slot(agent);
      return slot.take({ requests: 1, bytes: characters })?.message ?? slot;
    },
    onLeaving: (characters) => {
      share.slices.spend(unitsOf(characters) - 1);
      share.boundUnread();
    },
    onWithdrawn: (id, { tool, asked }) => {
      if (tool !== undefined) client.cancel(asked ?? orchestrator, id);
    },
    tell: (line) => writeLine(socket, line),
  });
}

/** Makes the gate in front of a session. A request that it leaves out is refused; if the refusal can't be sent, the session ends. */
function requestGate(
  agent: string,
  { limits, room, share, now }: OwnOptions,
  { refuse, end }: { refuse: (answer: JSONRPCMessage) => void; end: (reason: FaceRefusal) => void },
): Transform {
  return createLineGate({
    maxLineBytes: limits.bodyBytes + prefixBytes,
    budget: share.bytes,
    slices: share.slices,
    slot: room.slot(agent),
    now,
    onLeftOut: ({ id, noRoom: why }) => {
      if (id === undefined) end(why === undefined ? tooLong(limits) : overfull(why));
      else if (why === undefined) refuse(refusal(id, invalidRequest, tooLongText(limits)));
      else refuse(refusal(id, noRoom, why));
    },
  });
}

/** Writes a line of the face itself. */
export function writeLine(socket: Socket, line: FaceLine): void {
  if (socket.writable) socket.write(`${jsonLine(line)}\n`);
}

/** Closes a connection when everything that was written has left, or after a while if its client does not read. */
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

/** Turns an error into the reason why a connection is not served. */
export function refusalOf(thrown: unknown): FaceRefusal {
  if (!(thrown instanceof SignalboxError))
    return { code: 'internal', message: messageOf(thrown), retryable: true };
  const { code, message, retryable, details } = thrown;
  return { code, message, retryable, ...(typeof details.hint === 'string' && { hint: details.hint }) };
}
