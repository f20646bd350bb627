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

/** Tells the connections that follow what happens to messages, and which holds begin and end. Bodies are not told. */
export class TailFollowers implements Tail {
  /** True while a connection follows. It is a plain field because it is read for each message. */
  isOn = false;
  readonly #followers = new Map<Consumer, Follower>();
  readonly #now: () => number;
  #events = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Tells a connection about the messages of one agent, or of all, from now on. `address` is its inbox. */
  add(connection: Consumer, address: string, agent: string | undefined): void {
    this.#followers.set(connection, { address, agent, missed: 0 });
    this.isOn = true;
  }

  /** Stops telling a connection. */
  remove(connection: Consumer): void {
    this.#followers.delete(connection);
    this.isOn = this.#followers.size > 0;
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
    this.#tell([from.agent, agentOf(inbox)], { ...event, message: header });
  }

  /** Reports that a frame was refused. */
  refused(from: Sender, { code, message: detail, id }: FrameRefusal): void {
    const refused = { from, code, detail, ...(id !== undefined && { id }) };
    this.#tell([from.agent], { what: 'refused', refused });
  }

  /** Reports that a hold began or ended. One on a role, on tools or on everything may be on any agent. */
  holdChanged({ what, hold }: HoldChange): void {
    const { on, name = '' } = hold;
    this.#tell(on === 'agent' ? [name] : undefined, { what, hold });
  }

  /** Tells each connection that has room again how many events it missed. It is called repeatedly. */
  catchUp(): void {
    for (const [connection, follower] of this.#followers) this.#tellMissed(connection, follower);
  }

  /** `about` names the agents whom it concerns; without it, it may be any. */
  #tell(about: readonly string[] | undefined, facts: Record<string, unknown>): void {
    for (const [connection, follower] of this.#followers) {
      if (about && follower.agent !== undefined && !about.includes(follower.agent)) continue;
      const isTold = this.#tellMissed(connection, follower) && this.#push(connection, follower, facts);
      if (!isTold) follower.missed++;
    }
  }

  /** Tells a connection how many events it missed, if any. False if there is no room for that. */
  #tellMissed(connection: Consumer, follower: Follower): boolean {
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
