import { agentOf, type FrameRefusal, type MessageFrame, type Sender } from '@signalbox/protocol';
import { brokerSender } from '../core/broker-sender.ts';
import type { Consumer } from '../core/consumer.ts';
import type { Tail, TailEvent, TailMessage } from '../core/tail.ts';

interface Follower {
  readonly address: string;
  /** Told only of what this agent sent, gets or was refused. */
  readonly agent: string | undefined;
  /** Events that found no room since the last one that did. */
  missed: number;
}

/** Tells connections that asked for it what happens to messages, but not what is in them. */
export class TailFollowers implements Tail {
  /** A plain field, because it is read for each message. */
  isOn = false;
  readonly #followers = new Map<Consumer, Follower>();
  readonly #now: () => number;
  #events = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** This connection is told from now on, of one agent or of all. */
  add(connection: Consumer, address: string, agent: string | undefined): void {
    this.#followers.set(connection, { address, agent, missed: 0 });
    this.isOn = true;
  }

  remove(connection: Consumer): void {
    this.#followers.delete(connection);
    this.isOn = this.#followers.size > 0;
  }

  saw(event: TailEvent, seq: number, message: TailMessage): void {
    const { id, from, inbox, kind, correlationId, createdAt, size } = message;
    const header = {
      id,
      seq,
      from,
      to: inbox,
      kind,
      ...(correlationId !== undefined && { correlation_id: correlationId }),
      ...(createdAt !== undefined && { created_at: createdAt }),
      ...(size !== undefined && { size }),
    };
    this.#tell([from.agent, agentOf(inbox)], { ...event, message: header });
  }

  /** A frame of a connection was answered with an error. */
  refused(from: Sender, { code, message: detail, id }: FrameRefusal): void {
    const refused = { from, code, detail, ...(id !== undefined && { id }) };
    this.#tell([from.agent], { what: 'refused', refused });
  }

  /** Tells how much was missed where there is room again. To be called now and then. */
  catchUp(): void {
    for (const [connection, follower] of this.#followers) this.#hasCaughtUp(connection, follower);
  }

  #tell(about: readonly string[], facts: Record<string, unknown>): void {
    for (const [connection, follower] of this.#followers) {
      if (follower.agent !== undefined && !about.includes(follower.agent)) continue;
      const told = this.#hasCaughtUp(connection, follower) && this.#push(connection, follower, facts);
      if (!told) follower.missed++;
    }
  }

  #hasCaughtUp(connection: Consumer, follower: Follower): boolean {
    const { missed } = follower;
    if (missed === 0) return true;
    if (!this.#push(connection, follower, { what: 'missed', missed })) return false;
    follower.missed = 0;
    return true;
  }

  #push(connection: Consumer, { address }: Follower, facts: Record<string, unknown>): boolean {
    const at = this.#now();
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
