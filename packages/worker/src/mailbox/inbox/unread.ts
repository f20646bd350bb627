import type { BrokerClient, Log } from '@signalbox/client';
import { isInputRequired, messageOf } from '@signalbox/protocol';
import type { FaceTools } from '../../tools/face-tools.ts';
import type { Inbox } from './inbox.ts';

/** The most messages that are counted. */
const countedTo = 100;

export interface UnreadOptions {
  /** The shortest time between two peeks into an inbox that this process does not hold. */
  everyMs: number;
  /** Returns whether the agent has a tool to read messages with. */
  isWanted: () => boolean;
  /** Monotonic milliseconds. */
  now: () => number;
  log: Log;
}

/** Knows how many messages wait for the agent, without asking the broker at each call. */
export class Unread {
  readonly #client: BrokerClient;
  readonly #inbox: Inbox;
  readonly #options: UnreadOptions;
  #lastCount = 0;
  #peekedAt = Number.NEGATIVE_INFINITY;

  constructor(client: BrokerClient, inbox: Inbox, options: UnreadOptions) {
    this.#client = client;
    this.#inbox = inbox;
    this.#options = options;
  }

  /** The number of messages that were never offered, as far as it is known now. */
  get count(): number {
    if (!this.#options.isWanted()) return 0;
    return this.#inbox.isHeld ? this.#inbox.fresh().length : this.#lastCount;
  }

  /** Counts again in the background, by a peek into the inbox, if that is due. */
  refresh(): void {
    const { everyMs, isWanted, now, log } = this.#options;
    if (this.#inbox.isHeld || !isWanted() || now() - this.#peekedAt < everyMs) return;
    this.#peekedAt = now();
    this.#client.peek({ address: this.#client.agent, limit: countedTo }).then(
      (messages) => {
        this.#lastCount = messages.length;
      },
      (thrown) => log({ event: 'unread_not_known', reason: messageOf(thrown) }),
    );
  }
}

/** Wraps tools so that their results say in `_meta['signalbox/unread']` how many messages wait, if any do. */
export function mentionUnread(tools: FaceTools, unread: Unread): FaceTools {
  return {
    ...tools,
    call: (call) =>
      tools.call(call)?.then((answer) => {
        const { count } = unread;
        unread.refresh();
        if (count === 0 || isInputRequired(answer.result)) return answer;
        const _meta = { ...(answer.result._meta as object | undefined), 'signalbox/unread': count };
        return { ...answer, result: { ...answer.result, _meta } };
      }),
  };
}
