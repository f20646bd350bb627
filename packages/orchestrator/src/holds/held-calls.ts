import type { HoldsListener, ServedRequest } from '@signalbox/client';
import type { ToolOrigin } from '@signalbox/mcp-host';
import { type Hold, isPrivileged, SignalboxError, type ToolCallError } from '@signalbox/protocol';
import { holdText, isOnAgent } from '@signalbox/protocol/internal';
import { type ListPlace, PassingList, SharedRoom, timerMs } from '@signalbox/serving';
import { matchesResource } from '../roles/resource-pattern.ts';
import { matchesTool } from '../roles/tool-pattern.ts';
import { cancelledWhileHeld, heldTooLong, tooManyHeld } from './hold-errors.ts';

/** Bounds the held calls: those of one agent, of the agents of one minting token, and all together. `bytes` counts their requests. */
export interface HeldCallLimits {
  callsPerAgent: number;
  callsPerMinter: number;
  calls: number;
  bytesPerAgent: number;
  bytesPerMinter: number;
  bytes: number;
}

const MiB = 1024 * 1024;

/** The default limits of held calls. Each held call keeps a place of the inbox's window. */
export const defaultHeldCallLimits: HeldCallLimits = {
  callsPerAgent: 16,
  callsPerMinter: 128,
  calls: 512,
  bytesPerAgent: MiB,
  bytesPerMinter: 4 * MiB,
  bytes: 16 * MiB,
};

/** The subject of a hold: a call of a tool by an agent. */
export interface CallSubject {
  readonly agent: string;
  readonly role: string;
  readonly tool: string;
  readonly origin: ToolOrigin | undefined;
  /** True if the call reads or completes a resource: `tool` is its URI. */
  readonly isUri?: true | undefined;
}

/** The way in which the wait of a held call ended. `handed_back`: this process ends before the release. */
export type HoldEnd =
  | { status: 'released' }
  | { status: 'refused'; error: ToolCallError }
  | { status: 'handed_back' };

type Told = Parameters<HoldsListener>[0];
type RunningRequest = Pick<ServedRequest, 'stop'>;

/** A running call. */
interface RunningCall {
  request: RunningRequest;
  subject: CallSubject;
}

/** A waiting call. */
interface Waiting {
  /** Checks again whether a hold is on the call. */
  lookAgain: () => void;
  end: (end: HoldEnd) => void;
}

/** A held call. `onHold` is called with the hold when the wait begins. */
export interface HeldCall {
  request: Pick<ServedRequest, 'message' | 'signal' | 'remainingMs' | 'progress'>;
  subject: CallSubject;
  onHold: (hold: string) => void;
}

/** The dependencies of {@link HeldCalls}. */
export interface HeldCallsDeps {
  /** Returns the minting token that issued the token of an agent. Never rejects. */
  minterOf: (agent: string) => Promise<string | undefined>;
  /** The limits; by default {@link defaultHeldCallLimits}. */
  limits?: HeldCallLimits;
}

/** Holds the current holds. It makes the calls wait on which a hold is, and cancels running calls if the hold demands it. */
export class HeldCalls {
  readonly #minterOf: HeldCallsDeps['minterOf'];
  readonly #room: SharedRoom<'calls' | 'bytes'>;
  /** The room that all agents of one minting token share. */
  readonly #minterRoom: SharedRoom<'calls' | 'bytes'>;
  #holds: readonly Hold[] = [];
  #neverHeld: ReadonlySet<string> = new Set();
  readonly #told = Promise.withResolvers<void>();
  /** The waiting calls, in the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  readonly #running = new PassingList<RunningCall>();
  readonly #stopped = new WeakMap<RunningRequest, Hold>();
  #isClosed = false;

  constructor({ minterOf, limits = defaultHeldCallLimits }: HeldCallsDeps) {
    const { callsPerAgent, callsPerMinter, calls, bytesPerAgent, bytesPerMinter, bytes } = limits;
    this.#minterOf = minterOf;
    this.#room = new SharedRoom({
      calls: { each: callsPerAgent, all: calls },
      bytes: { each: bytesPerAgent, all: bytes },
    });
    const all = Number.POSITIVE_INFINITY;
    this.#minterRoom = new SharedRoom({
      calls: { each: callsPerMinter, all },
      bytes: { each: bytesPerMinter, all },
    });
  }

  /** Resolves when the holds are known for the first time. */
  get known(): Promise<void> {
    return this.#told.promise;
  }

  /** The number of held calls. */
  get count(): number {
    return this.#room.held('calls');
  }

  /** Takes over the current holds, in place of the previous ones. */
  readonly set = ({ holds, approvers }: Told): void => {
    this.#holds = holds;
    this.#neverHeld = new Set(approvers);
    this.#told.resolve();
    for (const waiting of [...this.#waiting]) waiting.lookAgain();
    if (holds.some((hold) => hold.cancel_running)) this.#stopRunning();
  };

  /** The current holds, the oldest first. */
  get all(): readonly Hold[] {
    return this.#holds;
  }

  /** Returns the oldest hold that is on a call. */
  on(call: CallSubject): Hold | undefined {
    if (this.#holds.length === 0 || this.#isNeverHeld(call)) return undefined;
    return this.#holds.find((hold) => isOnCall(hold, call));
  }

  /** Returns the oldest hold that is on every agent's calls of a tool, or on every call by a role. */
  onEvery(call: Omit<CallSubject, 'agent'>): Hold | undefined {
    if (isPrivileged(call.role)) return undefined;
    return this.#holds.find((hold) => hold.on !== 'agent' && isOnCall(hold, { agent: '', ...call }));
  }

  /** Remembers a call as running, so that a hold can cancel it. Returns the value to pass to {@link ended}. */
  runs(request: RunningRequest, subject: CallSubject): ListPlace<RunningCall> {
    return this.#running.add({ request, subject });
  }

  /** Forgets a call that has ended. */
  ended(running: ListPlace<RunningCall>): void {
    this.#running.remove(running);
  }

  /** Returns the hold that cancelled a running call. */
  stoppedBy(request: RunningRequest): Hold | undefined {
    return this.#stopped.get(request);
  }

  /** Makes a call wait until no hold is on it any more, or until shortly before its deadline. Never rejects. */
  async wait({ request, subject, onHold }: HeldCall): Promise<HoldEnd> {
    const { agent } = subject;
    const minter = await this.#minterOf(agent);
    const hold = this.on(subject);
    if (!hold) return { status: 'released' };
    if (this.#isClosed) return { status: 'handed_back' };
    const amounts = { calls: 1, bytes: Buffer.byteLength(request.message.body ?? '') };
    const ofMinter = minter === undefined ? undefined : this.#minterRoom.take(minter, amounts);
    if (ofMinter)
      return { status: 'refused', error: tooManyHeld(agent, hold, { ...ofMinter, of: 'minter' }) };
    const giveBack = (): void => {
      if (minter !== undefined) this.#minterRoom.giveBack(minter, amounts);
    };
    const shortage = this.#room.take(agent, amounts);
    if (shortage) {
      giveBack();
      return { status: 'refused', error: tooManyHeld(agent, hold, shortage) };
    }
    onHold(holdText(hold));
    request.progress({ progress: 0, message: `the call waits: ${holdText(hold)}` });
    try {
      return await this.#end(request, subject, hold);
    } finally {
      giveBack();
      this.#room.giveBack(agent, amounts);
    }
  }

  /** Hands back the waiting calls, and all that come later: the next process on this inbox continues with them. */
  close(): void {
    this.#isClosed = true;
    for (const { end } of this.#waiting) end({ status: 'handed_back' });
  }

  async #end(
    { signal, remainingMs }: HeldCall['request'],
    subject: CallSubject,
    hold: Hold,
  ): Promise<HoldEnd> {
    const { promise, resolve: end } = Promise.withResolvers<HoldEnd>();
    let last = hold;
    const lookAgain = (): void => {
      const now = this.on(subject);
      if (now) last = now;
      else end({ status: 'released' });
    };
    const abort = (): void => end(endOfAborted(signal, last));
    const timer = startTimer(remainingMs(), () => end({ status: 'refused', error: heldTooLong(last) }));
    const waiting: Waiting = { lookAgain, end };
    this.#waiting.add(waiting);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
      signal.removeEventListener('abort', abort);
    }
  }

  #stopRunning(): void {
    for (const { request, subject } of this.#running) {
      if (this.#isNeverHeld(subject)) continue;
      const hold = this.#holds.find((one) => one.cancel_running && isOnCall(one, subject));
      if (!hold) continue;
      this.#stopped.set(request, hold);
      request.stop();
    }
  }

  #isNeverHeld({ agent, role }: CallSubject): boolean {
    return isPrivileged(role) || this.#neverHeld.has(agent);
  }
}

function isOnCall(hold: Hold, { agent, role, tool, origin, isUri }: CallSubject): boolean {
  if (hold.on !== 'tool') return isOnAgent(hold, { agent, role });
  const { name = '' } = hold;
  return (
    matchesTool(name, tool, origin) ||
    (isUri === true && origin !== undefined && matchesResource(name, origin.server, origin.tool))
  );
}

/** Starts a timer that ends the wait. The caller hears of the end before its own deadline passes. */
function startTimer(remainingMs: number | undefined, end: () => void): NodeJS.Timeout | undefined {
  if (remainingMs === undefined) return undefined;
  return setTimeout(end, timerMs(remainingMs - Math.min(1000, remainingMs / 10))).unref();
}

function endOfAborted({ reason }: AbortSignal, hold: Hold): HoldEnd {
  const code = reason instanceof SignalboxError ? reason.code : undefined;
  if (code === 'closed') return { status: 'handed_back' };
  return { status: 'refused', error: code === 'timed_out' ? heldTooLong(hold) : cancelledWhileHeld(hold) };
}
