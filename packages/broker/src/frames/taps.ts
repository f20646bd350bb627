import { agentOf, type FrameRefusal, type MessageFrame, type Sender } from '@signalbox/protocol';
import { brokerSender } from '../core/broker-sender.ts';
import type { Tap, TappedEvent, TappedMessage } from '../core/tap.ts';

/** A connection that wants to be told. */
export interface TapHolder {
  readonly sender: Sender;
  /** False if the frame was dropped, because too much waits already. */
  pushEphemeral(frame: MessageFrame, body: string): boolean;
}

interface Listening {
  /** Tells only what this agent sent, gets or was refused. */
  agent: string | undefined;
  /** Notices that found no room since the last one that did. */
  missed: number;
}

/** Tells connections that asked for it what happens to messages; not what is in them. */
export class Taps implements Tap {
  /** A plain field: it is asked for each message. */
  isOn = false;
  readonly #listening = new Map<TapHolder, Listening>();
  readonly #now: () => number;
  #notices = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(holder: TapHolder, agent: string | undefined): void {
    this.#listening.set(holder, { agent, missed: 0 });
    this.isOn = true;
  }

  remove(holder: TapHolder): void {
    this.#listening.delete(holder);
    this.isOn = this.#listening.size > 0;
  }

  saw(event: TappedEvent, seq: number, message: TappedMessage): void {
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

  /** Says how much was missed, where there is room again. To be called now and then. */
  catchUp(): void {
    for (const [holder, listening] of this.#listening) this.#hasCaughtUp(holder, listening);
  }

  #tell(about: readonly string[], facts: Record<string, unknown>): void {
    for (const [holder, listening] of this.#listening) {
      if (listening.agent !== undefined && !about.includes(listening.agent)) continue;
      const told = this.#hasCaughtUp(holder, listening) && this.#push(holder, facts);
      if (!told) listening.missed++;
    }
  }

  #hasCaughtUp(holder: TapHolder, listening: Listening): boolean {
    const { missed } = listening;
    if (missed === 0) return true;
    if (!this.#push(holder, { what: 'missed', missed })) return false;
    listening.missed = 0;
    return true;
  }

  #push(holder: TapHolder, facts: Record<string, unknown>): boolean {
    const at = this.#now();
    const { address } = holder.sender;
    const frame: MessageFrame = {
      type: 'message',
      id: `tail-${++this.#notices}`,
      from: brokerSender,
      to: address,
      kind: 'event',
      created_at: at,
    };
    return holder.pushEphemeral(frame, JSON.stringify({ event: 'tail', at, ...facts }));
  }
}
