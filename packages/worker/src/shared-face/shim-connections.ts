import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { IdleConnections } from '../http/idle-connections.ts';
import { RecentRefusals } from '../http/recent-refusals.ts';
import type { TurnRef } from '../mailbox/served/turn-messages.ts';
import { AgentShares } from './agent-shares.ts';
import { AgentSlots, type SessionSlot } from './agent-slots.ts';
import { connectShimAgent, type ShimAgentOptions } from './connect-shim-agent.ts';
import { type FaceHello, type FaceRefusal, type HintQuestion, readFirstLine } from './face-lines.ts';
import {
  closeSocket,
  type FaceSession,
  type FaceSessionOptions,
  openSession,
  refusalOf,
  writeLine,
} from './face-session.ts';
import { type MailWaitEnd, MailWaits } from './mail-waits.ts';
import { refusalLog } from './refusal-log.ts';
import { noTurn, type Seat, type SeatTurn } from './seat.ts';

/** An event of a session: its shim was welcomed, its client listed the tools for the first time, its connection ended. */
export interface FaceSessionEvent {
  event: 'connected' | 'listed' | 'ended';
  agent: string;
  /** Names the shim, which keeps it over its connections. */
  consumer: string;
  /** The token that the shim has shown. */
  token: string;
  /** The turn for which the shim was started, if the agent is served. */
  turn: TurnRef | undefined;
}

export interface ShimConnectionsOptions extends ShimAgentOptions, FaceSessionOptions {
  /** The longest time for a first line, in milliseconds. */
  helloTimeoutMs: number;
  onSession: (event: FaceSessionEvent) => void;
}

const maxHelloBytes = 64 * 1024;
const refusedForMs = 30_000;
const maxRefused = 1_000;
/** The refusals of a token that stay valid whenever it is shown again. */
const lasting = new Set(['unauthorized', 'forged_sender', 'forbidden']);

/** The connections to a shared face, from their first line to their end: of shims, and of hooks, which ask one question. */
export class ShimConnections {
  readonly #options: ShimConnectionsOptions;
  readonly #sessions = new Set<FaceSession>();
  /** Connections that have not said hello, or get a last line and are closed. */
  readonly #strangers: IdleConnections;
  readonly #slots: AgentSlots;
  readonly #shares: AgentShares;
  readonly #waits = new MailWaits();
  readonly #logRefusal: (refusal: FaceRefusal) => void;
  readonly #refused: RecentRefusals<FaceRefusal>;
  readonly #serving = new Set<Promise<void>>();
  readonly #ending = new AbortController();

  constructor(options: ShimConnectionsOptions) {
    const { limits, now } = options;
    this.#options = options;
    this.#strangers = new IdleConnections(limits.idleConnections);
    this.#slots = new AgentSlots(limits);
    this.#shares = new AgentShares(limits, now);
    this.#logRefusal = refusalLog(options.log, now);
    this.#refused = new RecentRefusals({ forMs: refusedForMs, maxEntries: maxRefused, now });
  }

  /** The number of shims that are served. */
  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** Serves a connection that was just accepted, of the process that has a seat if one is given. */
  accept(socket: Socket, seat?: Seat): void {
    const served = this.#serve(socket, seat).catch((thrown) => {
      this.#options.log({ event: 'shared_face_failed', reason: messageOf(thrown) });
      socket.destroy();
    });
    this.#serving.add(served);
    void served.then(() => this.#serving.delete(served));
  }

  /** Ends all sessions, but not their calls, which the next face continues. Resolves when no connection is served any more. */
  async end(): Promise<void> {
    this.#ending.abort();
    const reason = { code: 'shutting_down', message: 'this face is ending', retryable: true };
    await Promise.all([...this.#sessions].map((session) => session.end(reason)));
    await Promise.all(this.#serving);
  }

  async #serve(socket: Socket, seat: Seat | undefined): Promise<void> {
    socket.on('error', () => socket.destroy());
    this.#strangers.opened(socket);
    const line = await firstLine(socket, {
      maxBytes: maxHelloBytes,
      timeoutMs: this.#options.helloTimeoutMs,
      signal: this.#ending.signal,
    });
    if (line === undefined) {
      socket.destroy();
      return;
    }
    try {
      const hello = readFirstLine(line);
      if ('signalbox_hint' in hello) return await this.#answerHook(socket, hello);
      if (seat) await this.#serveSeat(socket, hello, seat);
      else await this.#serveShim(socket, hello);
    } catch (thrown) {
      const refusal = refusalOf(thrown);
      this.#logRefusal(refusal);
      writeLine(socket, { refused: refusal });
      closeSocket(socket);
    }
  }

  /** Serves a shim of a process that takes several turns, with the token of the turn that runs, or of the next one. */
  async #serveSeat(socket: Socket, hello: FaceHello, seat: Seat): Promise<void> {
    if (hello.token !== seat.key)
      throw new SignalboxError('unauthorized', 'this is the face of another process of worker serve');
    const turn = seat.turn ?? (await this.#waitForTurn(socket, seat));
    if (!turn) return closeSocket(socket);
    const options = { ...hello.options, turn: turn.turn };
    await this.#serveShim(socket, { ...hello, token: turn.token, options }, { seat, turn });
  }

  async #waitForTurn(socket: Socket, seat: Seat): Promise<SeatTurn | undefined> {
    this.#strangers.isBusy(socket);
    writeLine(socket, { waits: noTurn });
    const gone = new AbortController();
    // A shim says nothing more before it is welcomed.
    const refuse = () => socket.destroy();
    socket
      .once('close', () => gone.abort())
      .on('data', refuse)
      .resume();
    try {
      return await seat.nextTurn(AbortSignal.any([gone.signal, this.#ending.signal]));
    } finally {
      socket.off('data', refuse).pause();
    }
  }

  async #serveShim(socket: Socket, hello: FaceHello, seated?: { seat: Seat; turn: SeatTurn }): Promise<void> {
    const token = createHash('sha256')
      .update(`${hello.agent ?? ''}\n${hello.token}`)
      .digest('base64');
    const known = this.#refused.get(token);
    if (known) throw new SignalboxError(known.code, known.message, { details: { hint: known.hint } });
    using slot = this.#slots.take(token);
    this.#strangers.isBusy(socket);
    const executor = await connectShimAgent(hello, this.#options, this.#ending.signal).catch((thrown) => {
      // The end of a turn makes its token invalid.
      seated?.seat.requireTurn(seated.turn);
      const refusal = refusalOf(thrown);
      if (lasting.has(refusal.code)) this.#refused.add(token, refusal);
      throw thrown;
    });
    slot.connected();
    try {
      seated?.seat.requireTurn(seated.turn);
      await this.#serveAgent(socket, hello, executor, { slot, seat: seated?.seat });
    } finally {
      await executor.close();
    }
  }

  /** Tells a hook about new mail of its agent, if a shim of the agent is served. The broker is asked only over that shim's connection. */
  async #answerHook(socket: Socket, question: HintQuestion): Promise<void> {
    const session = [...this.#sessions].findLast((one) => one.isOf(question));
    writeLine(socket, await this.#hintFor(socket, question, session));
    closeSocket(socket);
  }

  async #hintFor(
    socket: Socket,
    { wait = false }: HintQuestion,
    session: FaceSession | undefined,
  ): Promise<MailWaitEnd> {
    if (session === undefined) return { hint: null };
    if (!wait) return { hint: (await session.newMailHint())?.hint ?? null };
    this.#strangers.isBusy(socket);
    const gone = new AbortController();
    socket.once('close', () => gone.abort()).resume();
    return await this.#waits.next(session, AbortSignal.any([gone.signal, this.#ending.signal]));
  }

  async #serveAgent(
    socket: Socket,
    hello: FaceHello,
    executor: McpProxyExecutor,
    { slot: { mentioned }, seat }: { slot: SessionSlot; seat: Seat | undefined },
  ): Promise<void> {
    const { onSession, log } = this.#options;
    const { agent } = executor;
    const {
      consumer,
      token,
      options: { turn },
    } = hello;
    const facts = { agent, consumer, token, turn };
    const onListed = () => onSession({ event: 'listed', ...facts });
    using used = this.#shares.use(agent);
    const own = { mentioned, share: used.share, onListed };
    const session = openSession(socket, hello, executor, { ...this.#options, ...own });
    this.#sessions.add(session);
    seat?.enter(session);
    log({ event: 'face_session_opened', agent, sessions: this.#sessions.size });
    onSession({ event: 'connected', ...facts });
    await session.closed;
    this.#sessions.delete(session);
    seat?.leave(session);
    log({ event: 'face_session_ended', agent, sessions: this.#sessions.size });
    onSession({ event: 'ended', ...facts });
  }
}

const lineFeed = 10;

/**
 * Reads the first line of a connection and leaves the rest unread, paused. Returns `undefined` if the connection is closed before it
 * is complete, it takes longer than `timeoutMs`, or it has more than `maxBytes`.
 */
function firstLine(
  socket: Socket,
  { maxBytes, timeoutMs, signal }: { maxBytes: number; timeoutMs: number; signal: AbortSignal },
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (line: string | undefined) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onClose);
      socket.off('data', onData).off('close', onClose);
      socket.pause();
      resolve(line);
    };
    const onClose = () => end(undefined);
    const onData = (chunk: Buffer) => {
      const at = chunk.indexOf(lineFeed);
      const own = at < 0 ? chunk : chunk.subarray(0, at);
      bytes += own.length;
      if (bytes > maxBytes) return end(undefined);
      chunks.push(own);
      if (at < 0) return;
      end(Buffer.concat(chunks).toString('utf8'));
      if (at + 1 < chunk.length) socket.unshift(chunk.subarray(at + 1));
    };
    const timer = setTimeout(() => end(undefined), timeoutMs);
    socket.on('data', onData).once('close', onClose);
    signal.addEventListener('abort', onClose, { once: true });
    if (signal.aborted) onClose();
  });
}
