import type { Batch, NewMessage, RequestKey } from '@signalbox/store';
import { agentOf, inboxesOf, requestKeyOf } from '@signalbox/store/rules';
import { pairKey } from './counts.ts';

/** The key under which a message is found by its id. */
export interface IdKey {
  inbox: string;
  id: string;
  sender: string;
}

/** The inbox and the number of a message. */
export interface Place {
  inbox: string;
  seq: number;
}

/** The rows that a transaction must lock and read before the rules can be applied. */
export class BatchPlan {
  /** The inboxes that are locked. */
  readonly inboxes = new Set<string>();
  /** The inboxes among them that must have a row, so that they can be locked. */
  readonly ensured = new Set<string>();
  /** The agents that are locked, besides the senders of the settled messages. */
  readonly agents = new Set<string>();
  /** The agents among them that must have a row. */
  readonly ensuredAgents = new Set<string>();
  /** The number of sequence numbers that may be needed. */
  numbers = 0;
  /** Bytes of the bodies of new messages. */
  bytes = 0;
  /** Pending messages that are settled or changed. */
  readonly places: Place[] = [];
  /** Messages with an id that may be known, pending, settled or scheduled. */
  readonly ids: IdKey[] = [];
  /** The requests that are answered, with the message that the reply settles, which usually is the request. */
  readonly requests: (RequestKey & { settles: Place | undefined })[] = [];
  /** Senders with the agents to which they send, under a key of their own. */
  readonly pairs = new Map<string, { sender: string; recipient: string }>();
  /** Numbers of scheduled messages. */
  readonly scheduled: number[] = [];
  /** Numbers of dead letters. */
  readonly dead: number[] = [];

  /** Plans the changes of a batch. */
  static of({ takings = [], messages, attempts, settlements, cancelled = [] }: Batch): BatchPlan {
    const plan = new BatchPlan();
    for (const place of [...takings, ...attempts, ...settlements, ...cancelled]) plan.settles(place);
    for (const message of messages) plan.stores(message);
    for (const { notice } of settlements) if (notice) plan.#storesIn(notice, notice.inbox);
    return plan;
  }

  settles({ inbox, seq }: Place): void {
    this.inboxes.add(inbox);
    this.agents.add(agentOf(inbox));
    this.places.push({ inbox, seq });
  }

  stores(message: NewMessage): void {
    const { settles, copies, release, answers } = message;
    if (settles) this.settles(settles);
    if (release) this.scheduled.push(release.number);
    this.#storesIn(message, message.inbox);
    for (const agent of copies?.agents ?? []) this.#storesIn(message, agent);
    if (answers === undefined) return;
    const request = requestKeyOf(message);
    this.requests.push({ ...request, settles });
    // Two replies to one request must not be stored at the same time.
    for (const inbox of inboxesOf(request)) this.#ensure(inbox);
    this.#ensureAgent(answers);
  }

  /** Locks the inbox of a message that is stored in it or leaves it, and the agents against which it counts. */
  counts(inbox: string, sender: string, isCounted: boolean): void {
    this.#ensure(inbox);
    if (isCounted) this.#ensureAgent(sender);
  }

  #storesIn({ sender, id, quota, release, body }: NewMessage, inbox: string): void {
    this.counts(inbox, sender, quota !== undefined || release?.isCounted === true);
    this.ids.push({ inbox, id, sender });
    this.numbers++;
    if (body !== undefined) this.bytes += Buffer.byteLength(body);
    const recipient = agentOf(inbox);
    if (quota) this.pairs.set(pairKey(sender, recipient), { sender, recipient });
  }

  #ensure(inbox: string): void {
    this.inboxes.add(inbox);
    this.ensured.add(inbox);
    this.#ensureAgent(agentOf(inbox));
  }

  #ensureAgent(agent: string): void {
    this.agents.add(agent);
    this.ensuredAgents.add(agent);
  }
}
