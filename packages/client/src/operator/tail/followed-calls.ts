import type { CallRecord, TailNotice } from '@signalbox/protocol';

/** The largest number of calls that are followed; beyond it the oldest are forgotten. */
const maxFollowed = 10_000;

interface Followed {
  sentAt: number;
  shown?: CallRecord['state'];
  /** True if its reply was seen, so that the call has ended. */
  isAnswered: boolean;
}

/** The tool calls whose requests were seen, with the state of each that was shown. */
export class FollowedCalls {
  readonly #calls = new Map<string, Followed>();

  /** Records an event; returns true if the orchestrator may know more now. */
  observe(event: TailNotice): boolean {
    if (event.what !== 'stored') return false;
    const { id, kind, correlation_id, created_at } = event.message;
    if (kind === 'mcp_request') {
      this.#calls.set(id, { sentAt: created_at ?? event.at, isAnswered: false });
      if (this.#calls.size > maxFollowed) this.#calls.delete(this.#calls.keys().next().value!);
      return true;
    }
    const call = kind === 'mcp_reply' && correlation_id !== undefined && this.#calls.get(correlation_id);
    if (!call) return false;
    call.isAnswered = true;
    return true;
  }

  /** The time at which the oldest call was sent, in epoch milliseconds of the broker's clock; `undefined` without calls. */
  get since(): number | undefined {
    const [oldest] = this.#calls.values();
    return oldest?.sentAt;
  }

  /** True if a call waits for its turn, whose start causes no event. */
  get someAreQueued(): boolean {
    for (const { shown, isAnswered } of this.#calls.values()) {
      if (!isAnswered && shown !== 'running') return true;
    }
    return false;
  }

  /** Returns the records whose state was not shown yet. */
  changed(records: readonly CallRecord[]): CallRecord[] {
    const changed: CallRecord[] = [];
    for (const record of records) {
      const call = this.#calls.get(record.request_id);
      if (!call || call.shown === record.state) continue;
      call.shown = record.state;
      changed.push(record);
    }
    return changed;
  }

  /** Returns the ids of calls that were answered already. Asked now, the orchestrator gives their last state. */
  answered(): string[] {
    return [...this.#calls].flatMap(([id, { isAnswered }]) => (isAnswered ? [id] : []));
  }

  /** Stops following these calls. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#calls.delete(id);
  }
}
