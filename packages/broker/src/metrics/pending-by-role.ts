import { agentOf, isGroup, roleOfGroup } from '@signalbox/protocol';
import { LabelValues, type MetricFamily, type Sample } from '@signalbox/serving/monitoring';
import type { InboxStore } from '@signalbox/store';
import { brokerMetrics } from './broker-metrics.ts';

/** The number of inboxes that one step counts. */
const inboxesPerStep = 1000;
/** The most roles that are counted separately. */
const maxRoles = 32;
/** The role of an agent without a valid token: nobody can read its messages. */
const noRole = 'none';

/** The messages that wait for the agents of one role. */
interface Waiting {
  messages: number;
  bytes: number;
  /** The message with the lowest sequence number: numbers ascend with the time at which messages are stored. */
  oldest: { inbox: string; seq: number; createdAt?: number } | undefined;
}

/** The dependencies of {@link PendingByRole}. */
export interface PendingByRoleDeps {
  store: Pick<InboxStore, 'inboxBacklogs' | 'read'>;
  rolesOf: (agent: string) => ReadonlySet<string>;
  /** Returns epoch milliseconds. */
  now: () => number;
}

/**
 * Counts the waiting messages for each role, in small steps, so that a scrape costs nothing even with very many inboxes. It returns the
 * counts of the last complete pass over all inboxes.
 */
export class PendingByRole {
  readonly #deps: PendingByRoleDeps;
  #cursor = '';
  #counting = newCounts();
  #counted = newCounts();

  constructor(deps: PendingByRoleDeps) {
    this.#deps = deps;
  }

  /** Does one step. Repeated calls go through all inboxes again and again. */
  async step(): Promise<void> {
    const inboxes = await this.#deps.store.inboxBacklogs(this.#cursor, inboxesPerStep);
    for (const { inbox, pending, bytes, oldestSeq } of inboxes) {
      const waiting = this.#counting.of(this.#roleOf(agentOf(inbox)));
      waiting.messages += pending;
      waiting.bytes += bytes;
      if (!waiting.oldest || oldestSeq < waiting.oldest.seq) waiting.oldest = { inbox, seq: oldestSeq };
    }
    this.#cursor = inboxes.length < inboxesPerStep ? '' : inboxes.at(-1)!.inbox;
    if (this.#cursor === '') await this.#endPass();
  }

  /** Returns the counts of the last complete pass. */
  collect(): MetricFamily[] {
    const messages: Sample[] = [];
    const bytes: Sample[] = [];
    const oldest: Sample[] = [];
    for (const [role, waiting] of this.#counted.entries()) {
      messages.push([[role], waiting.messages]);
      bytes.push([[role], waiting.bytes]);
      const createdAt = waiting.oldest?.createdAt;
      if (createdAt !== undefined) oldest.push([[role], Math.max(0, this.#deps.now() - createdAt) / 1000]);
    }
    return [
      { ...brokerMetrics.waiting, type: 'gauge', samples: messages },
      { ...brokerMetrics.waitingBytes, type: 'gauge', samples: bytes },
      { ...brokerMetrics.oldest, type: 'gauge', samples: oldest },
    ];
  }

  /** Looks up the times when the oldest messages were created. A role without waiting messages gets 0. */
  async #endPass(): Promise<void> {
    const counting = this.#counting;
    for (const [role] of this.#counted.entries()) counting.of(role);
    for (const [role, { oldest }] of counting.entries()) {
      if (!oldest) continue;
      const last = this.#counted.of(role).oldest;
      const createdAt = last?.seq === oldest.seq ? last.createdAt : await this.#createdAt(oldest);
      if (createdAt !== undefined) oldest.createdAt = createdAt;
    }
    this.#counted = counting;
    this.#counting = newCounts();
  }

  async #createdAt({ inbox, seq }: { inbox: string; seq: number }): Promise<number | undefined> {
    const [message] = await this.#deps.store.read(inbox, seq - 1, 1, 1);
    return message?.createdAt;
  }

  /** Returns the role of an agent; of several roles, the first by name. For a group of the configuration returns its address. */
  #roleOf(agent: string): string {
    if (isGroup(agent)) return roleOfGroup(agent) ?? agent;
    const [role = noRole] = [...this.#deps.rolesOf(agent)].sort();
    return role;
  }
}

function newCounts(): LabelValues<Waiting> {
  return new LabelValues(maxRoles, () => ({ messages: 0, bytes: 0, oldest: undefined }));
}
