import type { Log } from '@signalbox/client';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { callerLeft } from './approval-errors.ts';
import { type ApprovalEvent, isQuestion } from './approval-record.ts';
import { type AskedCall, type Decision, decisionOf, tellWaiting } from './asked-decision.ts';
import type { OpenApproval } from './open-approval.ts';

/** The dependencies of {@link DecisionWaits}. */
export interface DecisionWaitsDeps {
  /** Notes that the caller of an approval waits no longer. */
  leave: (open: OpenApproval) => void;
  /** Epoch milliseconds. */
  now: () => number;
  log: Log;
}

/** The requests of this process that wait for the end of their own approvals. */
export class DecisionWaits {
  readonly #deps: DecisionWaitsDeps;
  readonly #handBack = new Set<() => void>();
  #isClosed = false;

  constructor(deps: DecisionWaitsDeps) {
    this.#deps = deps;
  }

  /** Resolves when the approval of a call ends, when its request is aborted, or when this is closed. Never rejects. */
  async wait(open: OpenApproval, { request, onWait }: AskedCall): Promise<Decision> {
    if (this.#isClosed) return { status: 'handed_back' };
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const handBack = () => resolve({ status: 'handed_back' });
    const { signal } = request;
    const abort = () => void this.#abort(open, signal).then(resolve);
    open.leftAt = undefined;
    open.onDecided = (record) => resolve(decisionOf(record));
    this.#handBack.add(handBack);
    onWait(open.record.id);
    tellWaiting(request, open.record, this.#deps.now());
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else if (open.record.end) resolve(decisionOf(open.record));
    try {
      const decision = await promise;
      if (decision.status === 'approved') {
        const message = `approval ${open.record.id} was given`;
        request.progress({ progress: 0, message, awaiting_approval: false });
      }
      return decision;
    } finally {
      open.onDecided = undefined;
      this.#handBack.delete(handBack);
      signal.removeEventListener('abort', abort);
    }
  }

  /** Hands back the calls that wait now or begin to wait later. */
  close(): void {
    this.#isClosed = true;
    for (const handBack of this.#handBack) handBack();
  }

  /** Ends a wait whose request was aborted: it was cancelled, its time is over, or it is left to the next process. */
  async #abort(open: OpenApproval, { reason }: AbortSignal): Promise<Decision> {
    const code = reason instanceof SignalboxError ? reason.code : undefined;
    if (code === 'closed') return { status: 'handed_back' };
    if (code !== 'timed_out' && !isQuestion(open.record) && !open.record.end) {
      this.#deps.leave(open);
      return { status: 'refused', error: callerLeft(open.record) };
    }
    const event: ApprovalEvent =
      code === 'timed_out'
        ? { kind: 'expire', requestIsOver: true }
        : { kind: 'cancel', reason: 'its caller cancelled it' };
    try {
      return decisionOf((await open.end(event)).record);
    } catch (thrown) {
      // The call does not run. Its record is cancelled when the broker says that the request is over.
      this.#deps.log({ event: 'journal_failed', id: open.record.requestId, reason: messageOf(thrown) });
      return decisionOf({ ...open.record, end: { state: 'cancelled', endedAt: this.#deps.now() } });
    }
  }
}
