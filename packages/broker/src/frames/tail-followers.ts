import { agentOf, type FrameRefusal, type MessageFrame, type Sender } from '@signalbox/protocol';
import { brokerSender } from '../core/broker-sender.ts';
import type { Consumer } from '../core/consumer.ts';
import type { Tail, TailEvent, TailMessage } from '../core/tail.ts';
import type { HoldChange } from '../holds/holds.ts';

interface Follower {
  readonly address: string;
  /** If given, only messages and refusals of this agent are told, and holds but for those on other agents. */
  readonly agent: string | undefined;
  /** The number of events that were dropped since the last one that was pushed. */
  missed: number;
}

/** An event, with the agents whom it concerns; without them, it may be any. `at` in epoch milliseconds. */
export interface TailLine {
  at: number;
  about?: readonly string[] | undefined;
  facts: Record<string, unknown>;
}

/** Tells the connections that follow what happens to messages, and which holds begin and end. Bodies are not told. */
export class TailFollowers implements Tail {
  /** True while a connection follows, here or at another broker. It is a plain field because it is read for each message. */
  isOn = false;
  readonly #followers = new Map<Consumer, Follower>();
  readonly #now: () => number;
  #events = 0;
  /** Passes events on to other brokers, if somebody follows there. */
  #passOn: ((line: TailLine) => void) | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Tells a connection about the messages of one agent, or of all, from now on. `address` is its inbox. */
  add(connection: Consumer, address: string, agent: string | undefined): void {
    this.#followers.set(connection, { address, agent, missed: 0 });
    this.#look();
  }

  /** Stops telling a connection. */
  remove(connection: Consumer): void {
    this.#followers.delete(connection);
    this.#look();
  }

  /** True while a connection of this broker follows. */
  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  /** Has what happens here passed on to other brokers, or no more. */
  passOn(send: ((line: TailLine) => void) | undefined): void {
    this.#passOn = send;
    this.#look();
  }

  #look(): void {
    this.isOn = this.isFollowed || this.#passOn !== undefined;
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

  /** Reports that a hold began or ended, as each broker does. One on a role, on tools or on everything may be on any agent. */
  holdChanged({ what, hold }: HoldChange): void {
    const { on, name = '' } = hold;
    this.tell({ at: this.#now(), about: on === 'agent' ? [name] : undefined, facts: { what, hold } });
  }

  /** Tells each connection that has room again how many events it missed. It is called repeatedly. */
  catchUp(): void {
    for (const [connection, follower] of this.#followers) this.#tellMissed(connection, follower);
  }

  /** Notes that events of another broker were lost. */
  missed(count: number): void {
    for (const follower of this.#followers.values()) follower.missed += count;
    this.catchUp();
  }

  /** Tells that what happened at another broker may be missing. */
  gap(broker: string): void {
    this.tell({ at: this.#now(), facts: { what: 'gap', broker } });
  }

  /** Tells the connections of this broker of an event. */
  tell({ at, about, facts }: TailLine): void {
    for (const [connection, follower] of this.#followers) {
      if (about && follower.agent !== undefined && !about.includes(follower.agent)) continue;
      const isTold = this.#tellMissed(connection, follower) && this.#push(connection, follower, at, facts);
      if (!isTold) follower.missed++;
    }
  }

  /** Tells a connection how many events it missed, if any. False if there is no room for that. */
  #tellMissed(connection: Consumer, follower: Follower): boolean {
    const { missed } = follower;
    if (missed === 0) return true;
    if (!this.#push(connection, follower, this.#now(), { what: 'missed', missed })) return false;
    follower.missed = 0;
    return true;
  }

  #happened(about: readonly string[], facts: Record<string, unknown>): void {
    const line = { at: this.#now(), about, facts };
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
