import type { TailFollowers, TailLine } from '../frames/tail-followers.ts';
import type { BrokerTalk } from './broker-talk.ts';

/** A broker that does not repeat for this time that it watches does not watch any more. One that sends nothing for so long has ended. */
const silentMs = 5000;
/** A broker that is watched sends something this often at least, so that others see what they have missed. */
const signEveryMs = 1000;
/** The most lines that wait to be sent. Of more, the newest are lost, and the numbers tell how many. */
const maxLines = 500;
/** The time in which other brokers confirm that they are watched. */
const confirmMs = 1000;

/** Lines that a broker sends to those that watch it. They have the numbers from `first` on, which begin anew with each `run` of the broker. */
interface Batch {
  run: string;
  first: number;
  lines: TailLine[];
}

/** The dependencies of {@link TailRelay}. */
export interface TailRelayDeps {
  talk: Pick<BrokerTalk, 'note' | 'askAll' | 'on'>;
  followers: TailFollowers;
  /** Differs for each run of the broker. */
  run: string;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/**
 * Passes what happens at one broker on to those at which somebody follows it. While nobody does, nothing is sent. The connections are told how
 * many events were lost, and of a broker that ended without saying so.
 */
export class TailRelay {
  readonly #deps: TailRelayDeps;
  /** The brokers at which somebody follows, with the monotonic time up to which that is known. */
  readonly #watchers = new Map<string, number>();
  #lines: TailLine[] = [];
  /** The number of the first of these lines, and that of the next event. */
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

  /** Has other brokers send what happens there. Resolves when they do so, or don't answer. */
  async begin(): Promise<void> {
    this.#isWatching = true;
    await this.#deps.talk.askAll('tail_begin', undefined, confirmMs);
  }

  /** Repeats to other brokers that somebody follows, and looks which of them are silent. Call it once a second. */
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

  /** Sends what has happened. Call it often. */
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

  /** Sends the rest, and says that no more comes. */
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
