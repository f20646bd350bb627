import type { BrokerClient, Log } from '@signalbox/client';
import type { McpHost } from '@signalbox/mcp-host';
import {
  messageOf,
  type Sender,
  SignalboxError,
  type SubscriptionsReply,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import { explainRead, findResource, type McpContentRules } from './route-mcp-content.ts';

/** The limits of followed resources: those of one agent, and all together. */
export interface SubscriptionLimits {
  perAgent: number;
  all: number;
}

/** The time between two checks of the connected addresses, in milliseconds. */
const pruneEveryMs = 60_000;

const defaultLimits: SubscriptionLimits = { perAgent: 1024, all: 16_384 };

/** The dependencies of {@link Subscriptions}. */
export interface SubscriptionDeps {
  host: Pick<McpHost, 'follow'>;
  client: Pick<BrokerClient, 'deliver' | 'listConnected'>;
  /** Returns the present rules. */
  rules: () => McpContentRules;
  limits?: SubscriptionLimits;
  /** Monotonic milliseconds. */
  now: () => number;
  log: Log;
}

/** A resource that an address follows. */
interface Followed {
  server: string;
  uri: string;
  updates: Paced;
  end: (() => void) | undefined;
}

/** The resources that one address follows, by the URIs that it named. */
interface Follower {
  from: Sender;
  /** The URIs that it wants to follow, including those that it may not follow now. */
  uris: readonly string[];
  resources: Map<string, Followed>;
}

/**
 * Knows which addresses follow which resources, and sends updates only to these. Each resource is checked when it is asked for and again at
 * each update. Nothing outlives this process: a face sends its list again when it or the orchestrator is new.
 */
export class Subscriptions {
  readonly #deps: SubscriptionDeps;
  readonly #limits: SubscriptionLimits;
  readonly #followers = new Map<string, Follower>();
  #prunedAt: number;

  constructor(deps: SubscriptionDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? defaultLimits;
    this.#prunedAt = deps.now();
  }

  /** Replaces the resources that the asker's address follows. */
  set(from: Sender, uris: readonly string[]): SubscriptionsReply {
    const before = this.#followers.get(from.address);
    this.#followers.delete(from.address);
    const resources = new Map<string, Followed>();
    const reply: SubscriptionsReply = { subscribed: [], refused: [] };
    let room = this.#roomFor(from.agent);
    for (const asked of new Set(uris)) {
      const earlier = before?.from.role === from.role ? before.resources.get(asked) : undefined;
      const found = room > 0 ? this.#follow(from, asked, resources, earlier) : { refusal: this.#noRoom() };
      if ('refusal' in found) reply.refused.push({ uri: asked, error: found.refusal });
      else {
        room--;
        reply.subscribed.push(asked);
      }
    }
    if (uris.length > 0) this.#followers.set(from.address, { from, uris, resources });
    // A resource that stays followed is not announced to its server again, because its new follower is added before the old one leaves.
    for (const [asked, { updates, end }] of before?.resources ?? []) {
      if (resources.get(asked)?.updates !== updates) updates.end();
      end?.();
    }
    return reply;
  }

  /** Follows everything again: the servers, or their prompts and resources, may have changed. */
  refresh(): void {
    for (const { from, uris } of [...this.#followers.values()]) this.set(from, uris);
  }

  /** Forgets the addresses that are no longer connected, at most once a minute. */
  async prune(): Promise<void> {
    const now = this.#deps.now();
    if (now - this.#prunedAt < pruneEveryMs) return;
    this.#prunedAt = now;
    const connected = new Set((await this.#deps.client.listConnected()).map(({ address }) => address));
    for (const address of [...this.#followers.keys()]) if (!connected.has(address)) this.#forget(address);
  }

  /** Ends all subscriptions. */
  close(): void {
    for (const address of [...this.#followers.keys()]) this.#forget(address);
  }

  /** The number of followed resources. */
  get count(): number {
    return [...this.#followers.values()].reduce((sum, { resources }) => sum + resources.size, 0);
  }

  /** Follows a resource. An update that was due before is still sent, if it is the same resource. */
  #follow(from: Sender, asked: string, resources: Map<string, Followed>, earlier: Followed | undefined) {
    const found = findResource(this.#deps.rules(), from.role, asked);
    if ('refusal' in found) return found;
    const { server, uri } = found;
    const isSame = earlier?.server === server && earlier.uri === uri;
    const updates = isSame ? earlier.updates : new Paced(() => this.#tell(from, asked, found));
    const end = this.#deps.host.follow({ server, uri }, from, () => updates.ask());
    resources.set(asked, { server, uri, updates, end });
    return found;
  }

  /** Sends an address an update, if its role may still read the resource. */
  #tell({ address, role }: Sender, asked: string, { server, uri }: { server: string; uri: string }): void {
    if (!explainRead(this.#deps.rules(), role, { server, uri }).allowed) return;
    const body = { event: 'resource_updated', uri: asked };
    this.#deps.client.deliver({ to: address, kind: 'event', body, ephemeral: true }).catch((thrown) => {
      if (thrown instanceof SignalboxError && thrown.code === 'no_consumer') this.#forget(address);
      else this.#deps.log({ event: 'announcement_missed', address, reason: messageOf(thrown) });
    });
  }

  #forget(address: string): void {
    const follower = this.#followers.get(address);
    this.#followers.delete(address);
    for (const followed of follower?.resources.values() ?? []) endOf(followed);
  }

  #roomFor(agent: string): number {
    const { perAgent, all } = this.#limits;
    const own = [...this.#followers.values()]
      .filter(({ from }) => from.agent === agent)
      .reduce((sum, { resources }) => sum + resources.size, 0);
    return Math.min(perAgent - own, all - this.count);
  }

  #noRoom(): ToolCallError {
    const { perAgent, all } = this.#limits;
    const message = `an agent may follow ${perAgent} resources, and all agents together ${all}`;
    return toolCallError('quota_exceeded', message, { mayHaveRun: false, hint: 'Follow fewer resources.' });
  }
}

function endOf({ updates, end }: Followed): void {
  updates.end();
  end?.();
}

/** The shortest time between two runs, in milliseconds. */
const pauseMs = 200;

/** Runs `work` at once, and then at most five times a second: all requests during a pause lead to one run at its end. */
class Paced {
  readonly #work: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;

  constructor(work: () => void) {
    this.#work = work;
  }

  /** Requests a run. */
  ask(): void {
    if (this.#timer) {
      this.#isDue = true;
      return;
    }
    this.#timer = setTimeout(() => this.#pauseOver(), pauseMs).unref();
    this.#work();
  }

  /** Stops all further runs. */
  end(): void {
    clearTimeout(this.#timer);
    this.#isDue = false;
  }

  #pauseOver(): void {
    this.#timer = undefined;
    if (!this.#isDue) return;
    this.#isDue = false;
    this.ask();
  }
}
