import type { TailFollowers, TailLine } from '../frames/tail-followers.ts';
import type { BrokerTalk } from './broker-talk.ts';

/**
 * A broker that does not repeat for this time that it watches no longer watches, and one that sends nothing for this time has ended. In
 * milliseconds.
 */
const silentMs = 5000;
/** The longest pause between two batches of a watched broker, in milliseconds, so that others notice lost ones. */
const signEveryMs = 1000;
/** The most lines that wait to be sent. Beyond that the newest are lost, and the numbers tell how many. */
const maxLines = 500;
/** The time in which other brokers confirm that they are watched, in milliseconds. */
const confirmMs = 1000;

/**
 * Lines that a broker sends to those that watch it. They are numbered from `first` on, and the numbers begin anew with each `run` of the
 * broker.
 */
interface Batch {
  run: string;
  first: number;
  lines: TailLine[];
}

/** The dependencies of {@link TailRelay}. */
export interface TailRelayDeps {
  talk: Pick<BrokerTalk, 'note' | 'askAll' | 'on'>;
  followers: TailFollowers;
  /** A text that differs for each run of the broker. */
  run: string;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/**
 * Passes the events of one broker to those whose connections follow them. While no connection follows, nothing is sent. The connections are
 * told the number of lost events, and that a broker ended without saying so.
 */
export class TailRelay {
  readonly #deps: TailRelayDeps;
  /** The brokers with following connections, each with the monotonic time up to which that is known. */
  readonly #watchers = new Map<string, number>();
  #lines: TailLine[] = [];
  /** The number of the first of these lines, and the number of the next event. */
  #first = 0;
  #next = 0;
  #signAt = 0;
  /** The last batch from each broker that this one watches. */
  readonly #heard = new Map<string, { run: string; next: number; at: number }>();
  #isWatching = false;

  constructor(deps: TailRelayDeps) {
    const { talk } = deps;
    this.#deps = deps;
    talk.on('tail_begin', (_: unknown, from) => this.#watchedBy(from));
    talk.on('tail_end', (_: unknown, from) => this.#forget(from));
    talk.on('tail', (batch: Batch, from) => this.#receive(batch, from));
    talk.on('tail_over', (_: unknown, from) => void this.#heard.delete(from));
  }

  /** Asks other brokers to send their events. Resolves when they do so, or don't answer. */
  async begin(): Promise<void> {
    this.#isWatching = true;
    await this.#deps.talk.askAll('tail_begin', undefined, confirmMs);
  }

  /** Repeats to other brokers that connections follow, and checks which of them are silent. Call it once a second. */
  async check(): Promise<void> {
    const { talk, followers, monotonic } = this.#deps;
    const now = monotonic();
    for (const [broker, until] of this.#watchers) if (until < now) this.#forget(broker);
    if (followers.isFollowed) {
      this.#isWatching = true;
      for (const [broker, { at }] of this.#heard) if (now - at > silentMs) this.#lost(broker);
      await talk.note('tail_begin', undefined);
    } else if (this.#isWatching) {
      this.#isWatching = false;
      this.#heard.clear();
      await talk.note('tail_end', undefined);
    }
  }

  /** Sends the collected events. Call it often. */
  async send(): Promise<void> {
    const { talk, run, monotonic } = this.#deps;
    const isSignDue = monotonic() - this.#signAt >= signEveryMs;
    if (this.#watchers.size === 0 || (this.#lines.length === 0 && !isSignDue)) return;
    const batch: Batch = { run, first: this.#first, lines: this.#lines };
    this.#lines = [];
    this.#first = this.#next;
    this.#signAt = monotonic();
    for (const broker of [...this.#watchers.keys()]) await talk.note('tail', batch, broker);
  }

  /** Sends the rest, and says that no more events follow. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.send();
    for (const broker of this.#watchers.keys()) await this.#deps.talk.note('tail_over', undefined, broker);
  }

  #watchedBy(broker: string): void {
    const { followers, monotonic } = this.#deps;
    this.#watchers.set(broker, monotonic() + silentMs);
    followers.passOn((line) => this.#add(line));
  }

  #forget(broker: string): void {
    this.#watchers.delete(broker);
    if (this.#watchers.size > 0) return;
    this.#deps.followers.passOn(undefined);
    this.#lines = [];
    this.#first = this.#next;
  }

  #add(line: TailLine): void {
    this.#next++;
    if (this.#lines.length < maxLines) this.#lines.push(line);
  }

  #receive({ run, first, lines }: Batch, from: string): void {
    const { followers, monotonic } = this.#deps;
    if (!followers.isFollowed) return;
    const known = this.#heard.get(from);
    if (known && known.run !== run) this.#lost(from);
    else if (known && first > known.next) followers.missed(first - known.next);
    for (const line of lines) followers.tell(line);
    this.#heard.set(from, { run, next: first + lines.length, at: monotonic() });
  }

  #lost(broker: string): void {
    const { followers } = this.#deps;
    this.#heard.delete(broker);
    followers.gap(broker);
  }
}
