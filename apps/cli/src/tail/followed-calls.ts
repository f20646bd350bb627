import type { CallRecord } from '@signalbox/protocol';
import type { Notice } from './tail-event.ts';

/** Calls that are followed at a time; beyond it the oldest are given up. */
const maxFollowed = 10_000;

interface Followed {
  sentAt: number;
  shown?: CallRecord['state'];
  /** Its reply was seen: it has ended, if it was a call at all. */
  isAnswered: boolean;
}

/** The tool calls whose requests were seen, and what was told of them. */
export class FollowedCalls {
  readonly #calls = new Map<string, Followed>();

  /** True if the orchestrator may know more now. */
  saw(notice: Notice): boolean {
    if (notice.what !== 'stored') return false;
    const { id, kind, correlation_id, created_at } = notice.message;
    if (kind === 'mcp_request') {
      this.#calls.set(id, { sentAt: created_at ?? notice.at, isAnswered: false });
      if (this.#calls.size > maxFollowed) this.#calls.delete(this.#calls.keys().next().value!);
      return true;
    }
    const call = kind === 'mcp_reply' && correlation_id !== undefined && this.#calls.get(correlation_id);
    if (!call) return false;
    call.isAnswered = true;
    return true;
  }

  /** When the oldest of them was sent, in epoch milliseconds of the broker's clock; `undefined` if there is none. */
  get since(): number | undefined {
    const [oldest] = this.#calls.values();
    return oldest?.sentAt;
  }

  /** True if some wait for their turn: nothing will be seen when it comes. */
  get someWait(): boolean {
    for (const { shown, isAnswered } of this.#calls.values()) {
      if (!isAnswered && shown !== 'running') return true;
    }
    return false;
  }

  /** Those of the records that tell something new. Calls that have ended are followed no longer. */
  news(records: readonly CallRecord[]): CallRecord[] {
    const news: CallRecord[] = [];
    for (const record of records) {
      const call = this.#calls.get(record.request_id);
      if (!call || call.shown === record.state) continue;
      call.shown = record.state;
      news.push(record);
    }
    return news;
  }

  /** Ids of calls that had been answered before the orchestrator was asked: whatever it said, it says no more. */
  answered(): string[] {
    return [...this.#calls].flatMap(([id, { isAnswered }]) => (isAnswered ? [id] : []));
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) this.#calls.delete(id);
  }
}
