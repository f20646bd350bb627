import type { BrokerClient, Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import { asksForInput } from '../executor/call-result.ts';
import type { FaceTools } from '../tools/face-tools.ts';
import type { Inbox } from './inbox.ts';

/** Most messages that a look into the inbox counts. */
const countedTo = 100;

export interface UnreadOptions {
  /** Least time between two looks into an inbox that somebody else holds, or nobody. */
  everyMs: number;
  /** Whether the agent has a tool to read them with. */
  isWanted: () => boolean;
  /** Monotonic milliseconds. */
  now: () => number;
  log: Log;
}

/** How many messages wait for the agent, as far as that is known without asking. */
export class Unread {
  readonly #client: BrokerClient;
  readonly #inbox: Inbox;
  readonly #options: UnreadOptions;
  #lastCount = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(client: BrokerClient, inbox: Inbox, options: UnreadOptions) {
    this.#client = client;
    this.#inbox = inbox;
    this.#options = options;
  }

  get count(): number {
    if (!this.#options.isWanted()) return 0;
    return this.#inbox.isHeld ? this.#inbox.fresh().length : this.#lastCount;
  }

  /** Looks into the inbox if that is due; nobody waits for it. */
  look(): void {
    const { everyMs, isWanted, now, log } = this.#options;
    if (this.#inbox.isHeld || !isWanted() || now() - this.#lookedAt < everyMs) return;
    this.#lookedAt = now();
    this.#client.peek({ address: this.#client.agent, limit: countedTo }).then(
      (messages) => {
        this.#lastCount = messages.length;
      },
      (thrown) => log({ event: 'unread_not_known', reason: messageOf(thrown) }),
    );
  }
}

/** The same tools, whose results mention in `_meta['signalbox/unread']` how many messages wait, if any do. */
export function mentionUnread(tools: FaceTools, unread: Unread): FaceTools {
  return {
    ...tools,
    call: (call) =>
      tools.call(call)?.then((answer) => {
        const { count } = unread;
        unread.look();
        if (count === 0 || asksForInput(answer.result)) return answer;
        const _meta = { ...(answer.result._meta as object | undefined), 'signalbox/unread': count };
        return { ...answer, result: { ...answer.result, _meta } };
      }),
  };
}
