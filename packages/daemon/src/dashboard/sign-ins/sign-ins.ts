import { setTimeout as pause } from 'node:timers/promises';
import type { SignIn } from '@signalbox/broker';
import type { BrokerClient } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import type { BrokerAccess } from '../access.ts';
import { LiveEvents } from '../events/live-events.ts';
import { CallerLimits } from './caller-limits.ts';
import { IdempotentResults } from './idempotent-results.ts';
import { SignInBackup } from './sign-in-backup.ts';
import { WorkMeter } from './work-meter.ts';

/** The time for which the connection of a sign-in stays open without requests, in milliseconds. */
const idleMs = 60_000;

/** The most sign-ins with a connection at a time. A sign-in of the agent that has the most is closed for one of an agent that has fewer. */
const maxOpen = 64;

/** The number of sign-ins that each get a full share of the broker's work; more sign-ins divide that amount. */
const fullShares = 2;

/** The sign-in of one browser, with its connection to the broker while it is used. */
export interface OpenSignIn {
  readonly signedIn: SignIn;
  readonly client: BrokerClient;
  readonly limits: CallerLimits;
  readonly results: IdempotentResults;
  readonly backup: SignInBackup;
  readonly events: LiveEvents;
  /** Aborted when the sign-in or its connection has ended. */
  readonly ended: AbortSignal;
}

interface Entry {
  /** The agent that signed in. */
  agent: string;
  opening: Promise<OpenSignIn>;
  /** The number of requests and streams that use it now. */
  users: number;
  idle: NodeJS.Timeout | undefined;
}

/**
 * Keeps one connection to the broker for each sign-in that is used. Its rights, its limits and its end are those of the sign-in's token:
 * the broker checks every frame. While no page asks, there is no connection.
 */
export class SignIns {
  readonly #entries = new Map<string, Entry>();
  readonly #access: BrokerAccess;
  readonly #orchestrator: string;
  readonly #monotonic: () => number;
  readonly #meter = new WorkMeter(processorMs);

  constructor(access: BrokerAccess, orchestrator: string, monotonic: () => number) {
    this.#access = access;
    this.#orchestrator = orchestrator;
    this.#monotonic = monotonic;
  }

  /** Uses a sign-in until the result is disposed. Rejects with `unauthorized` if its token is not valid. */
  async use(token: string): Promise<OpenSignIn & Disposable> {
    const known = token === '' ? undefined : this.#access.signInOf(token);
    if (!known) throw new SignalboxError('unauthorized', 'sign in first: signalbox dashboard prints a link');
    let entry = this.#entries.get(token);
    if (!entry) {
      this.#makeRoom(known.agent);
      const { agent } = known;
      entry = { agent, opening: this.#open({ token, ...known }), users: 0, idle: undefined };
      this.#entries.set(token, entry);
    }
    const used = entry;
    clearTimeout(used.idle);
    used.users++;
    try {
      const open = await used.opening;
      return { ...open, [Symbol.dispose]: () => this.#release(token, used) };
    } catch (error) {
      this.#forget(token, used);
      throw error;
    }
  }

  /** Closes the connections of all sign-ins. The sign-ins themselves stay valid. */
  closeAll(): void {
    for (const [token, entry] of this.#entries) this.#close(token, entry);
  }

  /** Closes a sign-in of the agent that has the most, preferably an unused one. Throws `rate_limited` if that would be no fairer. */
  #makeRoom(agent: string): void {
    if (this.#entries.size < maxOpen) return;
    const byAgent = Map.groupBy(this.#entries, ([, entry]) => entry.agent);
    const [most = []] = [...byAgent.values()].sort((a, b) => b.length - a.length);
    // If a difference of one were enough, two agents would take a connection from each other in turn.
    const [given] = most.toSorted(([, a], [, b]) => a.users - b.users);
    if (!given || most.length <= (byAgent.get(agent)?.length ?? 0) + 1)
      throw new SignalboxError('rate_limited', `${maxOpen} browsers use the dashboard already; close some`);
    this.#close(...given);
  }

  async #open(signedIn: SignIn): Promise<OpenSignIn> {
    const client = await this.#access.connect(signedIn);
    const ended = new AbortController();
    const events = new LiveEvents(client, this.#orchestrator);
    void client.closed.then((reason) => {
      this.#forget(signedIn.token, undefined);
      events[Symbol.dispose]();
      ended.abort(reason);
    });
    return {
      signedIn,
      client,
      limits: new CallerLimits({
        now: this.#monotonic,
        sleep: (ms) => pause(ms, undefined, { ref: false }),
        meter: (spend) => this.#meter.begin((ms) => spend(ms * Math.max(1, this.#entries.size / fullShares))),
      }),
      results: new IdempotentResults(),
      backup: new SignInBackup(),
      events,
      ended: ended.signal,
    };
  }

  #release(token: string, entry: Entry): void {
    entry.users--;
    if (entry.users > 0) return;
    entry.idle = setTimeout(() => this.#close(token, entry), idleMs);
    entry.idle.unref();
  }

  #close(token: string, entry: Entry): void {
    this.#forget(token, entry);
    void entry.opening.then(
      ({ client }) => client.close(),
      () => {},
    );
  }

  #forget(token: string, entry: Entry | undefined): void {
    const known = this.#entries.get(token);
    if (!known || (entry && known !== entry)) return;
    clearTimeout(known.idle);
    this.#entries.delete(token);
  }
}

/** Returns the processor time of this process in milliseconds. Unlike the elapsed time, it does not grow faster on a busy machine. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
