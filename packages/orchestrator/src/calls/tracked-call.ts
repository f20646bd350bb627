import type { CallRecord, CallRecordOutcome, Sender } from '@signalbox/protocol';
import type { ListPlace } from '@signalbox/serving';
import type { CallKey, JournalEntry } from '@signalbox/store/journal';

/** Names a call: its key, the role of its caller, its tool, and the thread of its request, if that differs from the request's id. */
export interface CallName extends CallKey {
  readonly role: string;
  readonly tool: string;
  readonly thread?: string | undefined;
}

/** The request of a call: its length, the way to stop it while its requester waits, and the way to keep its reply. */
export interface StoppableRequest {
  bytes: number;
  stop: () => void;
  /** Makes the journal keep the reply; absent without a journal. Rejects if that can't be written. */
  keep?: (() => Promise<void>) | undefined;
}

/** The operator who cancelled a call, and the reason. */
export interface CalledOff {
  by: Sender;
  reason: string | undefined;
}

/** The dependencies of a {@link TrackedCall}. */
export interface TrackedCallDeps {
  /** Epoch milliseconds. */
  now: () => number;
  /** Called when the call ends or is dropped. */
  onLeave: (call: TrackedCall) => void;
}

/** The state of one call in this process, from its request until the registry forgets it. */
export class TrackedCall {
  readonly name: CallName;
  readonly #deps: TrackedCallDeps;
  /** The request of the call until it ends: the objects of a request are large, and thousands of ended calls are kept. */
  #request: StoppableRequest | undefined;
  readonly #requestBytes: number | undefined;
  /** Made when somebody waits for the end. */
  #over: PromiseWithResolvers<void> | undefined;
  #isOver = false;
  /** Its place among the calls that wait or run. The registry sets it. */
  place: ListPlace<TrackedCall> | undefined;
  /** The time of the request, in epoch milliseconds. */
  readonly receivedAt: number;
  /** The time at which it began to run, in epoch milliseconds. It is a plain field because each unsafe call reads it. */
  startedAt: number | undefined;
  #server: string | undefined;
  #isRunning = false;
  #isAwaited = false;
  #lastHold: { hold: string; from: number } | undefined;
  #heldMs = 0;
  #position: (() => number | undefined) | undefined;
  #replyBytes: number | undefined;
  /** Set from the first request for a task on. Later requests share it while it is being written. */
  #beginsTask: Promise<boolean> | undefined;
  /** The last progress that the tool reported. */
  progress: CallRecord['progress'];
  /** The operator who cancelled it, and the reason; `undefined` if nobody did. */
  calledOff: CalledOff | undefined;
  /** True if the call is a task: its reply is kept, and its agent asks for it. */
  isTask: boolean;
  /** True for a round of a task that only stores answers: it ends as soon as they are written. */
  keepsAnswers = false;
  /** A text that says who placed the hold on the call, when and why; `undefined` if there is none. */
  hold: string | undefined;
  /** The id of the approval that the call waits for, or waited for. */
  approval: string | undefined;
  #finishedAt: number | undefined;
  /** The outcome of a call that has ended. */
  outcome: CallRecordOutcome | undefined;
  /** The JSON text of the reply, for as long as the registry keeps it. */
  replyText: string | undefined;

  /** `earlier` is the journal's entry of a start by an earlier process. */
  constructor(
    name: CallName,
    { earlier, request }: { earlier: JournalEntry | undefined; request: StoppableRequest | undefined },
    deps: TrackedCallDeps,
  ) {
    this.name = name;
    this.#deps = deps;
    this.#request = request;
    this.#requestBytes = request?.bytes;
    this.receivedAt = earlier?.receivedAt ?? deps.now();
    this.startedAt = earlier?.startedAt;
    this.#server = earlier?.server;
    this.isTask = earlier?.isKept ?? false;
  }

  /** Tells whether this is the call with that key. */
  hasKey({ agent, requestId }: CallKey): boolean {
    return this.name.requestId === requestId && this.name.agent === agent;
  }

  /** Marks the call as waiting for a decision. */
  awaits(approval: string): void {
    this.approval = approval;
    this.#isAwaited = true;
  }

  /** Marks the call as allowed to run by a decision. */
  cleared(approval: string): void {
    this.approval = approval;
    this.#isAwaited = false;
  }

  /** Marks the call as held, or as no longer held. */
  held(hold: string | undefined): void {
    const now = this.#deps.now();
    if (hold !== undefined) this.#lastHold = { hold, from: now };
    else if (this.#lastHold) this.#heldMs += Math.max(0, now - this.#lastHold.from);
    this.hold = hold;
  }

  /** Marks the call as waiting for its turn. `position` returns its place in the line. */
  waits(position: () => number | undefined): void {
    this.#position = position;
  }

  /** Stops the call for an operator. Its requester is told who stopped it, and why. */
  callOff(calledOff: CalledOff): void {
    this.calledOff ??= calledOff;
    this.#request?.stop();
  }

  /**
   * Makes the call a task. Resolves with true when that is on disk, or with false if there is no journal. Rejects if it can't be written:
   * then the call is no task, and the next request for one tries again.
   */
  becomeTask(): Promise<boolean> {
    this.#beginsTask ??= this.#beginTask();
    return this.#beginsTask;
  }

  async #beginTask(): Promise<boolean> {
    if (this.isTask) return true;
    const { keep } = this.#request ?? {};
    if (!keep) return false;
    // A call that ends meanwhile is kept like the call of a task.
    this.isTask = true;
    try {
      await keep();
      return true;
    } catch (thrown) {
      this.isTask = false;
      this.#beginsTask = undefined;
      throw thrown;
    }
  }

  /** Resolves when the call has ended, or is left to another process. */
  get over(): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.#over ??= Promise.withResolvers();
    return this.#over.promise;
  }

  /** Marks the call as running on `server`. */
  running(server: string | undefined): void {
    this.#position = undefined;
    this.#isRunning = true;
    this.startedAt = this.#deps.now();
    this.#server = server ?? this.#server;
  }

  /** Marks the call as ended. `replyText` is the JSON text of its reply. */
  ended(outcome: CallRecordOutcome, replyText: string): void {
    this.outcome = outcome;
    this.replyText = replyText;
    this.#replyBytes = Buffer.byteLength(replyText);
    this.#finishedAt = this.#deps.now();
    this.#leave();
  }

  /** Removes a call that did not run here, and that another orchestrator will run. */
  dropped(): void {
    this.#leave();
  }

  /** The state of a call that has not ended. */
  get state(): 'queued' | 'held' | 'awaiting_approval' | 'running' {
    if (this.hold !== undefined) return 'held';
    if (this.#isAwaited) return 'awaiting_approval';
    return this.#isRunning ? 'running' : 'queued';
  }

  /** Returns the call in the form in which operators and its agent see it. */
  toRecord(): CallRecord {
    const { agent, requestId, role, tool, thread } = this.name;
    const { outcome, progress, hold, approval } = this;
    const isActive = outcome === undefined;
    const state = isActive ? this.state : 'finished';
    return {
      request_id: requestId,
      agent,
      role,
      tool,
      thread,
      state,
      approval,
      hold,
      was_held:
        this.#lastHold && hold === undefined ? { hold: this.#lastHold.hold, ms: this.#heldMs } : undefined,
      position: state === 'queued' ? this.#position?.() : undefined,
      progress: isActive ? progress : undefined,
      received_at: this.receivedAt,
      started_at: this.startedAt,
      server: this.#server || undefined,
      finished_at: this.#finishedAt,
      request_bytes: this.#requestBytes,
      reply_bytes: this.#replyBytes,
      outcome,
      reply_kept: isActive ? undefined : this.replyText !== undefined,
    };
  }

  #leave(): void {
    this.#deps.onLeave(this);
    this.#request = undefined;
    this.#position = undefined;
    this.#isOver = true;
    this.#over?.resolve();
  }
}
