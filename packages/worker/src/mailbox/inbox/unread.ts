import type { BrokerClient, CancelSignal, Log } from '@signalbox/client';
import { type MailboxToolName, messageOf, type UnreadHint } from '@signalbox/protocol';
import { within } from '@signalbox/serving';
import type { CheckedOutMessage } from './checked-out-messages.ts';
import type { Inbox } from './inbox.ts';
import { type MailHint, mailHint, type WaitingMessage } from './mail-hint.ts';
import type { Mentioned } from './mentioned.ts';

/** The most messages that are counted. */
const countedTo = 100;
/** The shortest time between two looks that somebody waits for, in milliseconds. */
const shortestPauseMs = 1_000;
/** The longest wait of a session's first result for the first look, in milliseconds. */
const firstLookMs = 500;

type LookingClient = Pick<BrokerClient, 'agent' | 'peek'>;
type OwnInbox = Pick<Inbox, 'isLeased' | 'fresh'>;

export interface UnreadOptions {
  /** The shortest time between two peeks into an inbox that this process does not hold, in milliseconds. */
  everyMs: number;
  /** Returns the way in which the role is told about mail now. */
  mode: () => UnreadHint;
  /** Returns the tool with which the agent reads messages, if its role may see one. */
  readTool: () => MailboxToolName | undefined;
  mentioned: Mentioned;
  /** Monotonic milliseconds. */
  now: () => number;
  log: Log;
}

/**
 * Knows which messages wait for the agent, without asking the broker at each call, and which of them a hint has mentioned.
 */
export class Unread {
  readonly #client: LookingClient;
  readonly #inbox: OwnInbox;
  readonly #options: UnreadOptions;
  /** The messages of the last peek. */
  #peeked: readonly WaitingMessage[] = [];
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** The last look; it may have ended. */
  #looking: Promise<void> = Promise.resolve();
  #isKnown = false;

  constructor(client: LookingClient, inbox: OwnInbox, options: UnreadOptions) {
    this.#client = client;
    this.#inbox = inbox;
    this.#options = options;
  }

  /** The way in which the agent is told about mail now. */
  get mode(): UnreadHint {
    return this.#options.readTool() === undefined ? 'off' : this.#options.mode();
  }

  /** The number of messages that were never shown, as known now. */
  get count(): number {
    return this.mode === 'off' ? 0 : this.#waiting().length;
  }

  /**
   * Returns a hint at the messages that no hint has mentioned yet; `undefined` if there are none. Returning it counts as mentioning them.
   */
  takeHint(): MailHint | undefined {
    const readTool = this.#options.readTool();
    if (readTool === undefined || this.mode === 'off') return undefined;
    const fresh = this.#waiting().filter((message) => !this.#options.mentioned.has(message));
    if (fresh.length === 0) return undefined;
    for (const message of fresh) this.#options.mentioned.add(message);
    return mailHint(fresh, readTool);
  }

  /** Counts messages as mentioned, because a read has returned them or said that they wait. */
  shown(messages: readonly CheckedOutMessage[]): void {
    for (const mail of messages) this.#options.mentioned.add(waitingMessage(mail));
  }

  /** Looks again in the background, by a peek into the inbox, if that is due. */
  refresh(): void {
    void this.#look(this.#options.everyMs);
  }

  /** True when the first look has ended, or takes too long. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Waits for the first look, so that the first result mentions waiting mail. Resolves at once after that. Never rejects. */
  async known(signal: CancelSignal): Promise<void> {
    if (this.#isKnown) return;
    await within(this.#looking, firstLookMs, signal);
    this.#isKnown = true;
  }

  /**
   * Looks now, at most once a second, and returns a hint like {@link takeHint}, for an agent between its calls. Also returns `undefined` if
   * the role is not told by text.
   */
  async lookForHint(): Promise<MailHint | undefined> {
    if (this.mode !== 'text') return undefined;
    await this.#look(Math.min(this.#options.everyMs, shortestPauseMs));
    return this.takeHint();
  }

  /** Looks into an inbox that this process does not hold, unless the last look began less than `everyMs` ago. Never rejects. */
  #look(everyMs: number): Promise<void> {
    const { now, log } = this.#options;
    if (this.#inbox.isLeased) this.#peeked = [];
    if (this.#inbox.isLeased || this.mode === 'off' || now() - this.#lookedAt < everyMs) return this.#looking;
    this.#lookedAt = now();
    const peeking = this.#client.peek({ address: this.#client.agent, limit: countedTo, bodies: false });
    this.#looking = peeking.then(
      (messages) => {
        // Another process of the agent reads the messages that it works on.
        const unread = messages.filter(({ working }) => working !== true);
        this.#peeked = unread.map(({ id, from }) => ({ id, from: from.agent }));
      },
      (thrown) => log({ event: 'unread_not_known', reason: messageOf(thrown) }),
    );
    return this.#looking;
  }

  #waiting(): readonly WaitingMessage[] {
    return this.#inbox.isLeased ? this.#inbox.fresh().map(waitingMessage) : this.#peeked;
  }
}

function waitingMessage({ message: { id, from } }: CheckedOutMessage): WaitingMessage {
  return { id, from: from.agent };
}
