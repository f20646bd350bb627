import { agentOf, type FrameRefusal, type MessageFrame, type Sender } from '@signalbox/protocol';
import { brokerSender } from '../core/broker-sender.ts';
import type { Consumer } from '../core/consumer.ts';
import type { Tail, TailEvent, TailMessage } from '../core/tail.ts';
import type { HoldChange } from '../holds/holds.ts';

/** A connection that follows, as it asked. */
interface Following {
  /** Its inbox. */
  readonly address: string;
  /** If set, it gets only messages and refusals of this agent, and holds other than those on other agents. */
  readonly agent: string | undefined;
  /** True if it gets the private parts of statuses. */
  readonly seesPrivate: boolean;
}

interface Follower extends Following {
  /** The number of events that were dropped since the last one that was pushed. */
  missed: number;
}

/** An event, with the agents that it concerns; without them, it may concern any. `at` is in epoch milliseconds. */
export interface TailLine {
  at: number;
  about?: readonly string[] | undefined;
  /** True if only connections that see private parts of statuses get it. */
  isPrivate?: true;
  facts: Record<string, unknown>;
}

/** Sends the following connections the events of messages, and the beginnings and ends of holds. Events have no bodies. */
export class TailFollowers implements Tail {
  /** True while a connection follows, here or at another broker. It is a plain field because it is read for each message. */
  isOn = false;
  readonly #followers = new Map<Consumer, Follower>();
  readonly #now: () => number;
  #events = 0;
  /** Passes events on to other brokers, if connections follow there. */
  #passOn: ((line: TailLine) => void) | undefined;
  #onLook = (): void => {};

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sends a connection the events of one agent's messages, or of all messages, from now on. */
  add(connection: Consumer, following: Following): void {
    this.#followers.set(connection, { ...following, missed: 0 });
    this.#look();
  }

  /** Stops sending events to a connection. */
  remove(connection: Consumer): void {
    this.#followers.delete(connection);
    this.#look();
  }

  /** True while a connection of this broker follows. */
  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  /** Starts or stops passing the events of this broker on to other brokers. */
  passOn(send: ((line: TailLine) => void) | undefined): void {
    this.#passOn = send;
    this.#look();
  }

  /** Calls a function when the first connection follows, and when the last one has stopped. */
  onLook(listener: () => void): void {
    this.#onLook = listener;
  }

  #look(): void {
    const was = this.isOn;
    this.isOn = this.isFollowed || this.#passOn !== undefined;
    if (this.isOn !== was) this.#onLook();
  }

  report(event: TailEvent, seq: number | undefined, message: TailMessage): void {
    const { id, from, inbox, kind, correlationId, createdAt, size } = message;
    const header = {
      id,
      ...(seq !== undefined && { seq }),
      from,
      to: inbox,
      kind,
      ...(correlationId !== undefined && { correlation_id: correlationId }),
      ...(createdAt !== undefined && { created_at: createdAt }),
      ...(size !== undefined && { size }),
    };
    this.#happened([from.agent, agentOf(inbox)], { ...event, message: header });
  }

  /** Reports that a frame was refused. */
  refused(from: Sender, { code, message: detail, id }: FrameRefusal): void {
    const refused = { from, code, detail, ...(id !== undefined && { id }) };
    this.#happened([from.agent], { what: 'refused', refused });
  }

  /** Reports that a connection announced another private part of its status. */
  announced(from: Sender, part: unknown): void {
    const facts = { what: 'announced', from, ...(part !== undefined && { private: part }) };
    this.#happened([from.agent], facts, { isPrivate: true });
  }

  /** Reports that a hold began or ended, as each broker does. A hold on a role, on tools or on everything may concern any agent. */
  holdChanged({ what, hold }: HoldChange): void {
    const { on, name = '' } = hold;
    this.tell({ at: this.#now(), about: on === 'agent' ? [name] : undefined, facts: { what, hold } });
  }

  /** Tells each connection that has room again the number of events that it missed. Call it repeatedly. */
  catchUp(): void {
    for (const [connection, follower] of this.#followers) this.#tellMissed(connection, follower);
  }

  /** Notes that events of another broker were lost. */
  missed(count: number): void {
    for (const follower of this.#followers.values()) follower.missed += count;
    this.catchUp();
  }

  /** Reports that events of another broker may be missing. */
  gap(broker: string): void {
    this.tell({ at: this.#now(), facts: { what: 'gap', broker } });
  }

  /** Sends an event to the connections of this broker. */
  tell({ at, about, isPrivate, facts }: TailLine): void {
    for (const [connection, follower] of this.#followers) {
      if (isPrivate && !follower.seesPrivate) continue;
      if (about && follower.agent !== undefined && !about.includes(follower.agent)) continue;
      const isTold = this.#tellMissed(connection, follower) && this.#push(connection, follower, at, facts);
      if (!isTold) follower.missed++;
    }
  }

  /** Tells a connection the number of events that it missed, if there are any. Returns false if there is no room for that. */
  #tellMissed(connection: Consumer, follower: Follower): boolean {
    const { missed } = follower;
    if (missed === 0) return true;
    if (!this.#push(connection, follower, this.#now(), { what: 'missed', missed })) return false;
    follower.missed = 0;
    return true;
  }

  #happened(
    about: readonly string[],
    facts: Record<string, unknown>,
    more: Pick<TailLine, 'isPrivate'> = {},
  ): void {
    const line = { at: this.#now(), about, ...more, facts };
    this.#passOn?.(line);
    this.tell(line);
  }

  #push(connection: Consumer, { address }: Follower, at: number, facts: Record<string, unknown>): boolean {
    const frame: MessageFrame = {
      type: 'message',
      id: `tail-${++this.#events}`,
      from: brokerSender,
      to: address,
      kind: 'event',
      created_at: at,
    };
    return connection.pushEphemeral(frame, JSON.stringify({ event: 'tail', at, ...facts }));
  }
}
