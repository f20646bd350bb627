import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '@signalbox/serving';
import type { FaceHello, FaceRefusal } from '../shared-face/face-lines.ts';
import { ClientStreams } from './client-streams.ts';
import { type FaceLink, type LinkOutcome, openFaceLink } from './face-link.ts';
import { ShimSession } from './shim-session.ts';

/** Options of a shim: its connections to its face and its client. */
export interface ShimOptions {
  /** The path of the face's Unix socket. */
  path: string;
  /** The shim's description of its session. */
  session: Omit<FaceHello, 'signalbox_face' | 'consumer'>;
  /** Returns the agent's present token, which may be a new one. */
  renewToken: () => string | undefined;
  /** The longest wait at the start for a face that says that it can't serve yet, in milliseconds. */
  startWaitMs: number;
  /** The longest wait at the start for a face that does not listen yet, in milliseconds; default 5 s. `startWaitMs` bounds it, too. */
  absentWaitMs?: number;
  /** The longest wait of a request for a face that is lost, in milliseconds; default 30 s. */
  waitMs?: number;
  /** The time at the end for face and client to read what was written, in milliseconds; default 2 s. */
  farewellMs?: number;
  /** Waits this many milliseconds, or until the signal is aborted. It times the end; default: a timer. */
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  input: Readable;
  output: Writable;
  /** Resolves when the process is asked to end. */
  stop: Promise<unknown>;
  /** Writes a line for a person. */
  notice: (text: string) => void;
  /** Called once a face has welcomed the session. */
  onServing?: () => void;
  /** Returns monotonic milliseconds. */
  now?: () => number;
  /** Returns a number from 0 to 1. */
  random?: () => number;
}

/** The end of a shim. `not_served`: no face serves this session, and nothing was read from the client. */
export type ShimEnd = { end: 'not_served' } | { end: 'done' } | { end: 'refused'; refusal: FaceRefusal };

/** The longest wait for the face's answer, in milliseconds: it gives up connecting to the broker after 10 s. */
const greetingMs = 15_000;
/** A supervisor restarts a face within a second or two. */
const defaultAbsentWaitMs = 5_000;
const defaultFarewellMs = 2_000;
/** The time that a connection must last before the waits begin from the shortest again, in milliseconds. */
const steadyAfterMs = 2_000;
/** The waits between tries to connect. */
const reconnectBackoff = { firstMs: 50, longestMs: 1_000, jitter: 0.5 };

/**
 * Joins a client on two streams to the shared face at a Unix socket, until the client hangs up or the process is asked to end. When the
 * face is lost, the session waits for the next one and continues there.
 */
export async function runShim(options: ShimOptions): Promise<ShimEnd> {
  return await new Shim(options).run();
}

class Shim {
  readonly #options: ShimOptions;
  /** Names this shim in a turn, or for good if its process takes one only. */
  #consumer = newConsumer();
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #client: ClientStreams;
  readonly #session: ShimSession;
  readonly #end = Promise.withResolvers<ShimEnd>();
  /** Aborted when the shim ends. */
  readonly #ending = new AbortController();
  #token: string;
  #link: FaceLink | undefined;
  #lost = Promise.withResolvers<void>();
  /** The reason that the face gave for the end of the connection. */
  #ended: FaceRefusal | undefined;
  /** The reason why the last try to connect sent nothing. */
  #untrusted: string | undefined;
  #expiry: NodeJS.Timeout | undefined;

  constructor(options: ShimOptions) {
    const { session, input, output, notice, waitMs, now = () => performance.now() } = options;
    this.#options = options;
    this.#now = now;
    this.#random = options.random ?? Math.random;
    this.#token = session.token;
    this.#client = new ClientStreams(input, output, {
      onLine: (line) => this.#session.fromClient(line),
      onChunkEnd: () => {
        if (!this.#link) this.#watchWaiting();
        this.#adjustFlow();
      },
      onDrained: () => this.#adjustFlow(),
      onEnd: (problem) => {
        if (problem !== undefined) notice(problem);
        this.#end.resolve({ end: 'done' });
      },
    });
    this.#session = new ShimSession(
      { consumer: this.#consumer, ...(waitMs !== undefined && { waitMs }) },
      {
        toClient: (line) => this.#client.write(line),
        toFace: (line) => this.#link?.write(line),
        dropFace: (reason) => {
          notice(`the connection to the MCP face is given up: ${reason}`);
          this.#link?.destroy();
        },
        notice,
        now,
      },
    );
  }

  async run(): Promise<ShimEnd> {
    void this.#options.stop.then(() => {
      this.#session.stop();
      this.#end.resolve({ end: 'done' });
    });
    void this.#end.promise.then(() => this.#ending.abort());
    const first = await this.#connectFirst();
    if (!('link' in first)) return first;
    this.#options.onServing?.();
    this.#client.open();
    this.#goOn(first.link);
    void this.#keepFace();
    const end = await this.#end.promise;
    clearTimeout(this.#expiry);
    await this.#sayFarewell();
    return end;
  }

  /** Connects for the first time, or returns the end of a shim that was not served. */
  async #connectFirst(): Promise<{ link: FaceLink } | ShimEnd> {
    const { path, notice, startWaitMs, absentWaitMs = defaultAbsentWaitMs } = this.#options;
    const since = this.#now();
    let isAbsenceTold = false;
    for (let attempt = 0; ; attempt++) {
      const { link, refusal, untrusted } = await this.#connect();
      if (this.#isEnding) return { end: 'done' };
      if (link) return { link };
      if (untrusted !== undefined || refusal?.retryable === false) return { end: 'not_served' };
      const waitMs = backoffMs(reconnectBackoff, attempt, this.#random());
      const longestMs = refusal ? startWaitMs : Math.min(absentWaitMs, startWaitMs);
      if (this.#now() + waitMs - since > longestMs) {
        if (refusal) return { end: 'refused', refusal };
        notice(`no MCP face listens at ${path}; this process serves its agent by itself`);
        return { end: 'not_served' };
      }
      if (!refusal && !isAbsenceTold) {
        isAbsenceTold = true;
        notice(`no MCP face listens at ${path} yet; waiting for it`);
      }
      await this.#pause(waitMs);
    }
  }

  /** Finds a new face whenever one is lost, until the shim ends. */
  async #keepFace(): Promise<void> {
    let attempt = 0;
    while (!this.#isEnding) {
      const since = this.#now();
      await this.#lost.promise;
      if (this.#isEnding) return;
      const isTurnOver = this.#ended?.code === 'no_turn';
      attempt = this.#now() - since < steadyAfterMs && !isTurnOver ? attempt + 1 : 0;
      const refusal = this.#noteLoss() ?? (await this.#reconnect(attempt, { atOnce: isTurnOver }));
      if (refusal) return this.#end.resolve({ end: 'refused', refusal });
    }
  }

  /** Puts the session on hold. Returns the face's refusal if it is final. */
  #noteLoss(): FaceRefusal | undefined {
    const ended = this.#ended;
    this.#ended = undefined;
    this.#lost = Promise.withResolvers();
    this.#link = undefined;
    this.#session.faceLost();
    const isTurnOver = ended?.code === 'no_turn';
    if (isTurnOver) {
      // A call of the next turn is another message, and no reply to a call of this one is taken then.
      this.#consumer = newConsumer();
      this.#session.turnEnded(this.#consumer);
    }
    this.#watchWaiting();
    this.#adjustFlow();
    if (isTurnOver) return undefined;
    if (ended && isFinal(ended) && !this.#renewToken()) return ended;
    this.#options.notice(
      `the MCP face is gone${ended ? ` (${ended.message})` : ''}; waiting for the next one`,
    );
    return undefined;
  }

  /** Connects again, with any number of tries. Returns a refusal that is final. */
  async #reconnect(firstAttempt: number, { atOnce }: { atOnce: boolean }): Promise<FaceRefusal | undefined> {
    for (let attempt = firstAttempt; !this.#isEnding; attempt++) {
      if (!atOnce || attempt > firstAttempt)
        await this.#pause(backoffMs(reconnectBackoff, attempt, this.#random()));
      // A client that does not read would make each face in turn give up the connection.
      await Promise.race([this.#client.drained(), this.#end.promise]);
      if (this.#isEnding) break;
      const { link, refusal } = await this.#connect();
      if (link) {
        if (!this.#session.isBetweenTurns) this.#options.notice('the MCP face is back');
        this.#goOn(link);
        return undefined;
      }
      if (refusal && isFinal(refusal) && !this.#renewToken()) return refusal;
    }
    return undefined;
  }

  async #connect(): Promise<LinkOutcome> {
    const { path, session, notice } = this.#options;
    const hello: FaceHello = {
      signalbox_face: 1,
      ...session,
      token: this.#token,
      consumer: this.#consumer,
    };
    const outcome = await openFaceLink(path, hello, {
      timeoutMs: greetingMs,
      signal: this.#ending.signal,
      onLine: (line) => {
        this.#ended = this.#session.fromFace(line) ?? this.#ended;
      },
      onFlow: () => this.#adjustFlow(),
      onWaits: () => this.#session.turnEnded(this.#consumer),
      onLost: () => this.#lost.resolve(),
    });
    const { untrusted } = outcome;
    if (untrusted !== undefined && untrusted !== this.#untrusted)
      notice(`the shared face at ${path} is not used: ${untrusted}`);
    this.#untrusted = untrusted;
    return outcome;
  }

  #goOn(link: FaceLink): void {
    this.#link = link;
    clearTimeout(this.#expiry);
    this.#session.faceCame();
    this.#adjustFlow();
  }

  /** Takes the present token. Returns false if it is the one that was refused. */
  #renewToken(): boolean {
    const current = this.#options.renewToken();
    if (current === undefined || current === this.#token) return false;
    this.#token = current;
    return true;
  }

  /** Reads from each side only as fast as the other side takes it. */
  #adjustFlow(): void {
    this.#link?.setReading(!this.#client.isFull);
    this.#client.setReading(!this.#link?.isFull && !this.#client.isUnread);
  }

  /** Ends requests that wait too long while there is no face. */
  #watchWaiting(): void {
    clearTimeout(this.#expiry);
    const nextMs = this.#session.expire();
    if (nextMs !== undefined && !this.#isEnding)
      this.#expiry = setTimeout(() => this.#watchWaiting(), nextMs);
  }

  /**
   * Ends the connection in order, so that everything that was written arrives and the face can end it, too, and lets the client read the
   * rest. Both share one time limit.
   */
  async #sayFarewell(): Promise<void> {
    const { farewellMs = defaultFarewellMs, wait = waitUnlessAborted } = this.#options;
    this.#client.close();
    const link = this.#link;
    link?.end();
    const inOrder = (link ? this.#lost.promise : Promise.resolve()).then(() => this.#client.written());
    const gaveUp = new AbortController();
    const late = wait(farewellMs, gaveUp.signal);
    await Promise.race([inOrder, late]);
    gaveUp.abort();
    link?.destroy();
  }

  get #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  async #pause(ms: number): Promise<void> {
    await waitUnlessAborted(ms, this.#ending.signal);
  }
}

function newConsumer(): string {
  return randomBytes(16).toString('base64url');
}

function waitUnlessAborted(ms: number, signal: AbortSignal): Promise<unknown> {
  return delay(ms, undefined, { signal }).catch(() => {});
}

/** Returns true if a refusal stays valid for this token. Another face may serve the broker that this one does not. */
function isFinal({ code, retryable }: FaceRefusal): boolean {
  return !retryable && code !== 'wrong_broker';
}
