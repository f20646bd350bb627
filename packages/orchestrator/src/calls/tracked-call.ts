import type { CallRecord, CallRecordOutcome } from '@signalbox/protocol';
import type { CallKey } from '../journal/call-key.ts';
import type { JournalEntry } from '../journal/journal.ts';

/** Names a call: its key, the role of its caller, and its tool. */
export interface CallName extends CallKey {
  readonly role: string;
  readonly tool: string;
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
  /** The time of the request, in epoch milliseconds. */
  readonly receivedAt: number;
  #startedAt: number | undefined;
  #server: string | undefined;
  #isRunning = false;
  #isAwaited = false;
  /** Who holds the call, since when and why; `undefined` if nobody does. */
  hold: string | undefined;
  /** The id of the approval that the call waits for, or waited for. */
  approval: string | undefined;
  #finishedAt: number | undefined;
  /** The outcome of a call that has ended. */
  outcome: CallRecordOutcome | undefined;
  /** The JSON text of the reply, for as long as the registry keeps it. */
  replyText: string | undefined;

  /** `earlier` is the journal's entry of a start by an earlier process. */
  constructor(name: CallName, earlier: JournalEntry | undefined, deps: TrackedCallDeps) {
    this.name = name;
    this.#deps = deps;
    this.receivedAt = earlier?.receivedAt ?? deps.now();
    this.#startedAt = earlier?.startedAt;
    this.#server = earlier?.server;
  }

  /** Whether this is the call with that key. */
  hasKey({ agent, requestId }: CallKey): boolean {
    return this.name.requestId === requestId && this.name.agent === agent;
  }

  /** Marks the call as one that waits for a decision. */
  awaits(approval: string): void {
    this.approval = approval;
    this.#isAwaited = true;
  }

  /** Marks the call as one that may run since somebody decided so. */
  cleared(approval: string): void {
    this.approval = approval;
    this.#isAwaited = false;
  }

  /** Marks the call as held, or as held no more. */
  held(hold: string | undefined): void {
    this.hold = hold;
  }

  /** Marks the call as running on `server`. */
  running(server: string | undefined): void {
    this.#isRunning = true;
    this.#startedAt = this.#deps.now();
    this.#server = server ?? this.#server;
  }

  /** Marks the call as ended. `replyText` is the JSON text of its reply. */
  ended(outcome: CallRecordOutcome, replyText: string): void {
    this.outcome = outcome;
    this.replyText = replyText;
    this.#finishedAt = this.#deps.now();
    this.#deps.onLeave(this);
  }

  /** Removes a call that did not run here and that another orchestrator will run. */
  dropped(): void {
    this.#deps.onLeave(this);
  }

  /** The state of a call that has not ended. */
  get state(): 'queued' | 'held' | 'awaiting_approval' | 'running' {
    if (this.hold !== undefined) return 'held';
    if (this.#isAwaited) return 'awaiting_approval';
    return this.#isRunning ? 'running' : 'queued';
  }

  /** Returns the call as operators and its agent are shown it. */
  toRecord(): CallRecord {
    const { agent, requestId, role, tool } = this.name;
    const { outcome } = this;
    return {
      request_id: requestId,
      agent,
      role,
      tool,
      state: outcome === undefined ? this.state : 'finished',
      ...(this.approval !== undefined && { approval: this.approval }),
      ...(this.hold !== undefined && { hold: this.hold }),
      received_at: this.receivedAt,
      ...(this.#startedAt !== undefined && { started_at: this.#startedAt }),
      ...(this.#server && { server: this.#server }),
      ...(this.#finishedAt !== undefined && { finished_at: this.#finishedAt }),
      ...(outcome !== undefined && { outcome, reply_kept: this.replyText !== undefined }),
    };
  }
}
