import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sender } from '@signalbox/protocol';
import { type ClusterPort, hasExpired, type NewMessage, type StoredMessage } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { InFlightMessage, Lease } from '../leases/lease.ts';
import type { LeaseTable } from '../leases/lease-table.ts';
import type { Candidate, SharedLease } from '../leases/shared-lease.ts';
import { isRequest } from '../message-header.ts';
import type { WaitingRequests } from '../settling/waiting-requests.ts';
import type { ExpiryClock } from '../time/expiry-clock.ts';
import type { FailedReads } from './failed-reads.ts';
import { inFlight, type Pushed, type Pusher } from './pusher.ts';
import { readBatch, readBytes } from './read-sizes.ts';

/** The dependencies of the {@link GroupDispatcher}. */
export interface GroupDispatcherDeps {
  cluster: Pick<ClusterPort, 'isAlone' | 'claim' | 'claimAgain' | 'unclaim'>;
  commits: CommitQueue;
  leases: LeaseTable;
  waiting: WaitingRequests;
  time: ExpiryClock;
  pusher: Pusher;
  /** Tells whether a message waits before it is pushed again. */
  isDelayed: (address: string, seq: number) => boolean;
  failedReads: Pick<FailedReads, 'add'>;
  onError: (error: unknown) => void;
}

/**
 * The result of a step. `went_on`: messages were handed out. `blocked`: others of the same keys come before everything that was read, so
 * that it looks further. `no_room`: no member has room for the next message.
 */
type Progress = 'went_on' | 'blocked' | 'no_room';

/** Hands the messages of groups to their members: either when they are stored or, when there is room again, from the store. */
export class GroupDispatcher {
  readonly #deps: GroupDispatcherDeps;

  constructor(deps: GroupDispatcherDeps) {
    this.#deps = deps;
  }

  /** Handles a message that was just stored. Another broker may have stored earlier messages up to `after`. */
  stored(shared: SharedLease, message: NewMessage, from: Sender, seq: number, after: number): void {
    const { waiting, time, pusher } = this.#deps;
    const { inbox, createdAt, expiresAt, body, kind } = message;
    if (shared.reading) shared.missed = true;
    const isBehind = after > shared.cursor;
    if (isBehind) shared.behind = true;
    const candidate = candidateOf(message, seq, body === undefined ? 0 : Buffer.byteLength(body));
    const { size } = candidate;
    const isNext = !shared.behind && shared.mayHandOut(candidate);
    const next = isNext ? shared.next(candidate) : undefined;
    const member = next === 'later' ? undefined : next;
    time.look();
    if (isRequest(kind) && (!member || hasExpired(message, time)))
      waiting.add({ inbox, seq, createdAt, expiresAt, wasPushed: false }, time.now());
    if (member) {
      const pushed = pusher.push(member, seq, inFlight(message, from, size, 0, time.lookedAt), message);
      this.#afterPush(shared, member, { ...candidate, kind }, pushed);
    }
    // A message whose key is not free is remembered with the key.
    if (next || (!shared.behind && !isNext)) shared.cursor = Math.max(shared.cursor, seq);
    else shared.behind = true;
    if (isBehind) this.#pump(shared);
  }

  /** Looks for messages that were stored without a call of {@link stored}. */
  wake(shared: SharedLease): void {
    shared.behind = true;
    if (shared.reading) shared.missed = true;
    this.#pump(shared);
  }

  /** Looks for messages that can be handed out now and could not be before: the listed ones, or any. */
  freed(shared: SharedLease, seqs: readonly number[] | 'any'): void {
    if (seqs === 'any') shared.lookAnew();
    // A running read may have passed it over.
    else for (const seq of seqs) if (seq <= shared.cursor || shared.reading) shared.again(seq);
    this.wake(shared);
  }

  /** Removes a message that its reply settled from those in flight. Returns it, or `undefined` if it was not in flight. */
  settledByReply(shared: SharedLease, seq: number): InFlightMessage | undefined {
    const member = shared.holderOf(seq);
    const message = member?.release(seq);
    if (member) {
      shared.heard(member);
      shared.released(member, seq);
    }
    shared.ended(seq);
    this.#pump(shared);
    return message;
  }

  /** Continues after a member has released messages. */
  released(member: Lease, seqs: readonly number[]): void {
    const shared = this.#deps.leases.ofGroup(member.address);
    if (!shared) return;
    for (const seq of seqs) shared.released(member, seq);
    this.#pump(shared);
  }

  /** Continues after a member may have got room. */
  isFree(member: Lease): void {
    const shared = this.#deps.leases.ofGroup(member.address);
    if (!shared) return;
    shared.look(member);
    this.#pump(shared);
  }

  /** Notes that a member missed an ack deadline. It gets nothing until {@link heard} is called. */
  missedDeadline(member: Lease): void {
    this.#deps.leases.ofGroup(member.address)?.missedDeadline(member);
  }

  /** Notes that a member has sent a frame about its messages. */
  heard(member: Lease): void {
    const shared = this.#deps.leases.ofGroup(member.address);
    if (!shared) return;
    shared.heard(member);
    this.#pump(shared);
  }

  /** Notes that a message has ended. The next one of its key is handed out. */
  ended(shared: SharedLease, seq: number): void {
    if (shared.ended(seq)) this.#pump(shared);
  }

  /**
   * Hands out again a message whose delay is over. Without other brokers, the next read finds a message after the cursor. With others, it
   * does not: it leaves out what this broker has claimed, such as the next message of a key, which may be handed out ahead of the cursor.
   */
  due(shared: SharedLease, seq: number): void {
    if (seq > shared.cursor && this.#deps.cluster.isAlone) return;
    shared.again(seq);
    // Only members with room look for it.
    if (shared.room().messages <= 0 && shared.keys === 'in_order')
      this.#unclaim(shared, [seq], { wasHandedOut: true, keys: [] });
    this.#pump(shared);
  }

  #pump(shared: SharedLease): void {
    shared.changed = true;
    if (shared.reading || !(hasWork(shared) || shared.unclaimed.length > 0)) return;
    shared.reading = true;
    this.#catchUp(shared).catch((error: unknown) => {
      this.#deps.failedReads.add(shared, () => this.#pump(shared));
      this.#deps.onError(error);
    });
  }

  /**
   * Reads until nothing is left to hand out. It clears `reading` in the same step in which it decides to stop, so that no wake-up is lost.
   */
  async #catchUp(shared: SharedLease): Promise<void> {
    try {
      let limit = shared.room().messages;
      for (;;) {
        if (shared.unclaimed.length > 0) await this.#giveBack(shared);
        if (shared.unclaimed.length > 0) continue;
        if (!hasWork(shared)) return;
        shared.changed = false;
        const retry = shared.retries.shift();
        const progress =
          retry === undefined
            ? await this.#handOutBacklog(shared, Math.min(limit, readBatch))
            : await this.#handOutAgain(shared, retry);
        // A member that gets room for it continues. One may have got room since then.
        if (progress === 'no_room' && shared.unclaimed.length > 0) await this.#giveBack(shared);
        if (progress === 'no_room' && !shared.changed && shared.unclaimed.length === 0) return;
        limit = progress === 'blocked' ? readBatch : shared.room().messages;
        if (progress === 'blocked') await nextTurn();
      }
    } finally {
      shared.reading = false;
    }
  }

  /** Reads on, and hands out the messages that may be handed out. */
  async #handOutBacklog(shared: SharedLease, limit: number): Promise<Progress> {
    const { cluster, time, isDelayed } = this.#deps;
    const maxBytes = Math.min(shared.room().bytes, readBytes);
    const request = { after: shared.beginRead(), limit, maxBytes, keys: shared.keys };
    const { messages, upTo, isAll } = await cluster.claim(shared.address, request);
    if (isAll) shared.behind = shared.missed;
    time.look();
    let handedOut = 0;
    for (const [at, message] of messages.entries()) {
      const { seq } = message;
      // A read of the whole inbox may find what a member has, if the claims of this broker were lost.
      const isHad = shared.holderOf(seq) !== undefined;
      if (!isHad && shared.mayHandOut(candidateOf(message, seq)) && !isDelayed(shared.address, seq)) {
        if (!this.#handOut(shared, message)) {
          const left = messages.slice(at);
          if (this.#handOver(shared, left, false)) shared.passed(upTo);
          else shared.behind = true;
          return 'no_room';
        }
        handedOut++;
      }
      shared.passed(seq);
    }
    shared.passed(upTo);
    return messages.length > 0 && handedOut === 0 ? 'blocked' : 'went_on';
  }

  async #handOutAgain(shared: SharedLease, seq: number): Promise<Progress> {
    const { commits, cluster, time, isDelayed } = this.#deps;
    shared.endedSinceRead.clear();
    let message: StoredMessage | undefined;
    try {
      await commits.written();
      message = await cluster.claimAgain(shared.address, seq, shared.keys);
    } catch (error) {
      shared.again(seq);
      throw error;
    }
    if (shared.holderOf(seq) || isDelayed(shared.address, seq)) return 'went_on';
    if (!message) {
      shared.ended(seq);
      return 'went_on';
    }
    time.look();
    if (!shared.mayHandOut(candidateOf(message, seq)) || this.#handOut(shared, message)) return 'went_on';
    shared.again(seq);
    this.#handOver(shared, [message], true);
    return 'no_room';
  }

  /**
   * Gives back claimed messages for which no member has room. Other brokers may have room for them, and this one may have room later.
   * Returns false if there is no other broker.
   */
  #handOver(shared: SharedLease, messages: readonly StoredMessage[], wasHandedOut: boolean): boolean {
    const seqs = messages.map(({ seq }) => seq);
    const unowned = messages.filter(({ sender }) => shared.keys === 'by_member' && !shared.ownerOf(sender));
    const keys = unowned.map(({ sender }) => sender);
    if (!this.#unclaim(shared, seqs, { wasHandedOut, keys })) return false;
    for (const seq of seqs) shared.again(seq);
    return true;
  }

  /** Leaves the return of claims to the loop that also makes claims, so that no claim is returned that was made meanwhile. */
  #unclaim(
    shared: SharedLease,
    seqs: readonly number[],
    how: { wasHandedOut: boolean; keys: readonly string[] },
  ): boolean {
    if (this.#deps.cluster.isAlone) return false;
    const isHandedOver = seqs.map((seq) => shared.handOver(seq)).includes(true);
    shared.unclaimed.push({ seqs, ...how, isHandedOver });
    return true;
  }

  /** Returns claims after the attempts of their messages are written, which other brokers must see. */
  async #giveBack(shared: SharedLease): Promise<void> {
    const { cluster, commits } = this.#deps;
    for (const { seqs, ...how } of shared.unclaimed.splice(0)) {
      await commits.written().catch(() => {});
      const free = seqs.filter((seq) => !shared.holderOf(seq));
      // If all members have left, their messages are given back together with the inbox.
      if (free.length > 0 && !shared.isEmpty) await cluster.unclaim(shared.address, free, how);
    }
  }

  /**
   * Hands a message that was read to a member. Skips a message that is over, or that waits for the member with its key. Returns false if no
   * member has room for it.
   */
  #handOut(shared: SharedLease, stored: StoredMessage): boolean {
    const { seq } = stored;
    const { pusher } = this.#deps;
    // Its reply came from a member that had lost it.
    const isOver = shared.endedSinceRead.has(seq) || !pusher.mayPush(stored) || pusher.ackIfAnswered(stored);
    if (isOver) {
      shared.ended(seq);
      return true;
    }
    const member = shared.next(stored);
    if (!member) return false;
    if (member !== 'later') this.#afterPush(shared, member, stored, pusher.pushStored(member, stored));
    return true;
  }

  #afterPush(
    shared: SharedLease,
    member: Lease,
    { seq, kind, sender }: Pick<StoredMessage, 'seq' | 'kind' | 'sender'>,
    pushed: Pushed,
  ): void {
    if (pushed === 'over') shared.ended(seq);
    if (pushed !== 'pushed') return;
    shared.handed(member, { seq, sender });
    if (isRequest(kind) && member.member)
      this.#deps.commits.recordTaking({ inbox: shared.address, seq, agent: member.member.agent });
  }
}

function candidateOf(
  { group, sender, size }: Pick<StoredMessage, 'group' | 'sender'> & { size?: number },
  seq: number,
  bytes = size ?? 0,
): Candidate {
  return { seq, size: bytes, key: group?.key, sender };
}

function hasWork(shared: SharedLease): boolean {
  return (shared.behind || shared.retries.length > 0) && shared.room().messages > 0;
}
