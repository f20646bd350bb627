import type { KeyMode } from '@signalbox/store';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Consumer } from '../consumer.ts';
import { type InFlightMessage, Lease } from './lease.ts';
import { SharedLease } from './shared-lease.ts';

type Op =
  | { op: 'join'; window: number }
  | { op: 'leave' | 'ack' | 'nack' | 'give_up' | 'resume' | 'pause' | 'miss' | 'speak'; pick: number }
  | { op: 'resize'; pick: number; window: number }
  | { op: 'store'; key: string | undefined; sender: string; size: number };

const pick = fc.nat({ max: 40 });
const window = fc.integer({ min: 0, max: 3 });
const ops: fc.Arbitrary<Op[]> = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.record({ op: fc.constant('join' as const), window }) },
    {
      weight: 9,
      arbitrary: fc.record({
        op: fc.constantFrom(
          ...(['leave', 'ack', 'ack', 'ack', 'nack', 'give_up', 'resume', 'pause', 'miss', 'speak'] as const),
        ),
        pick,
      }) as fc.Arbitrary<Op>,
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('resize' as const), pick, window }) },
    {
      weight: 8,
      arbitrary: fc.record({
        op: fc.constant('store' as const),
        key: fc.constantFrom(undefined, 'a', 'b'),
        sender: fc.constantFrom('ann', 'bob', 'eve'),
        size: fc.constantFrom(1, 1, 60, 100),
      }),
    },
  ),
  { maxLength: 80, size: 'max' },
);

const windowBytes = 100;

interface Message {
  seq: number;
  key: string | undefined;
  sender: string;
  size: number;
}

/** The contract: it decides who may be handed which message. It checks everything each time, and remembers only what was seen. */
class Model {
  readonly keys: KeyMode;
  readonly pending = new Map<number, Message>();
  /** The members that have the messages of senders, if senders are the keys. */
  readonly owners = new Map<string, Lease>();
  readonly holders = new Map<number, Lease>();
  /** The members that have room, the one that has waited longest first. */
  waiting: Lease[] = [];
  members: Lease[] = [];
  /** The members that missed an ack deadline and have sent nothing since. */
  readonly silent = new Set<Lease>();

  constructor(keys: KeyMode) {
    this.keys = keys;
  }

  hasRoom(member: Lease): boolean {
    return !this.silent.has(member) && member.room().messages > 0;
  }

  /** Members that got room go to the end of the line; those that lost it leave it. */
  look(): void {
    this.waiting = this.waiting.filter((one) => this.members.includes(one) && this.hasRoom(one));
    for (const one of this.members)
      if (this.hasRoom(one) && !this.waiting.includes(one)) this.waiting.push(one);
  }

  /** Returns the messages that may be handed out: nobody has them, and if keys keep their order, they are the first of their keys. */
  free(): Message[] {
    const all = [...this.pending.values()].sort((a, b) => a.seq - b.seq);
    return all.filter(({ seq, key }) => {
      if (this.holders.has(seq)) return false;
      return (
        this.keys === 'by_member' || key === undefined || all.find((one) => one.key === key)!.seq === seq
      );
    });
  }

  handed(message: Message, member: Lease): void {
    expect(this.silent.has(member)).toBe(false);
    expect(this.free().map(({ seq }) => seq)).toContain(message.seq);
    const owner = this.keys === 'by_member' ? this.owners.get(message.sender) : undefined;
    expect(owner ?? this.waiting.find((one) => one.fits(message.size))).toBe(member);
    if (owner) expect(this.free().find(({ sender }) => sender === message.sender)).toBe(message);
    this.owners.set(message.sender, member);
    this.holders.set(message.seq, member);
    this.waiting = this.waiting.filter((one) => one !== member);
  }
}

/** Drives a shared lease as the dispatcher does, without a store, and makes the model check each step. */
class Driver {
  readonly shared: SharedLease;
  readonly model: Model;
  #seq = 0;
  readonly #paused = new Set<Lease>();

  constructor(keys: KeyMode) {
    this.shared = new SharedLease('role:writer', keys);
    this.model = new Model(keys);
  }

  step(op: Op): void {
    const { model, shared } = this;
    const members = model.members;
    switch (op.op) {
      case 'join':
        this.#join(op.window);
        break;
      case 'store':
        this.#seq++;
        model.pending.set(this.#seq, { seq: this.#seq, key: op.key, sender: op.sender, size: op.size });
        break;
      case 'leave': {
        const member = members[op.pick % members.length];
        if (member) this.#leave(member);
        break;
      }
      case 'resize':
      case 'pause':
      case 'resume': {
        const member = members[op.pick % members.length];
        if (!member) break;
        if (op.op === 'resize') member.setWindow({ window: op.window, windowBytes });
        else if (op.op === 'pause') this.#paused.add(member);
        else this.#paused.delete(member);
        shared.look(member);
        break;
      }
      case 'speak': {
        const member = members[op.pick % members.length];
        if (!member) break;
        model.silent.delete(member);
        shared.heard(member);
        break;
      }
      default: {
        const held = [...model.holders];
        const [seq, member] = held[op.pick % held.length] ?? [];
        if (seq === undefined || !member) break;
        this.#end(op.op, seq, member);
      }
    }
    model.look();
    this.#handOut();
    this.#compare();
  }

  #join(window: number): void {
    const paused = this.#paused;
    const consumer = {
      get writable(): boolean {
        return !paused.has(lease);
      },
    } as Consumer;
    const options = { window, windowBytes, ackDeadlineMs: 1000, member: { agent: 'rosa', role: 'writer' } };
    const lease: Lease = new Lease('lease', 'role:writer', consumer, options);
    this.shared.join(lease);
    lease.started = true;
    this.shared.look(lease);
    this.model.members.push(lease);
  }

  #leave(member: Lease): void {
    const { model, shared } = this;
    const had = [...member.inFlight.keys()];
    shared.leave(member);
    model.members = model.members.filter((one) => one !== member);
    for (const [sender, owner] of model.owners) if (owner === member) model.owners.delete(sender);
    for (const seq of had) {
      model.holders.delete(seq);
      shared.again(seq);
    }
  }

  #end(how: 'ack' | 'nack' | 'give_up' | 'miss', seq: number, member: Lease): void {
    const { model, shared } = this;
    if (how === 'miss') {
      model.silent.add(member);
      shared.missedDeadline(member);
    } else if (how !== 'give_up') {
      model.silent.delete(member);
      shared.heard(member);
    }
    if (how !== 'give_up') {
      member.release(seq);
      shared.released(member, seq);
      model.holders.delete(seq);
    }
    if (how === 'nack' || how === 'miss') shared.again(seq);
    else {
      shared.ended(seq);
      model.pending.delete(seq);
      // A message that was given up while a member had it stays there until the member settles it.
      if (how === 'give_up') {
        member.release(seq);
        shared.released(member, seq);
        model.holders.delete(seq);
      }
    }
  }

  #handOut(): void {
    const { shared, model } = this;
    for (;;) {
      const again = shared.retries.shift();
      const message =
        again === undefined
          ? [...model.pending.values()].find(({ seq }) => seq > shared.cursor)
          : model.pending.get(again);
      if (message === undefined && again === undefined) return;
      if (message === undefined) {
        shared.ended(again!);
        continue;
      }
      if (model.holders.has(message.seq)) continue;
      if (shared.mayHandOut(message)) {
        const member = shared.next(message);
        if (!member) {
          if (again !== undefined) shared.again(again);
          return;
        }
        if (member !== 'later') this.#hand(message, member);
      }
      shared.cursor = Math.max(shared.cursor, message.seq);
    }
  }

  #hand(message: Message, member: Lease): void {
    const { shared, model } = this;
    model.handed(message, member);
    member.hold(message.seq, { size: message.size } as InFlightMessage);
    shared.handed(member, message);
    model.look();
  }

  #compare(): void {
    const { shared, model } = this;
    for (const [seq, holder] of model.holders) expect(shared.holderOf(seq)).toBe(holder);
    if (model.keys === 'in_order') {
      const keys = [...model.holders.keys()].flatMap((seq) => model.pending.get(seq)?.key ?? []);
      expect(new Set(keys).size).toBe(keys.length);
    }
    // No member idles while there is a message for it. A message that does not fit waits for room, and later ones wait with it.
    const [first] = model.free();
    const owner = first && model.keys === 'by_member' ? model.owners.get(first.sender) : undefined;
    const able = model.waiting.filter((one) => owner === undefined || one === owner);
    if (first) expect(able.filter((one) => one.fits(first.size))).toEqual([]);
    const counted = model.waiting.reduce((sum, one) => sum + one.room().messages, 0);
    expect(shared.room().messages).toBe(counted);
  }
}

it.each<KeyMode>(['in_order', 'by_member'])(
  'agrees with the model over random sequences, keys %s: each message has one holder, keys keep their order or their member, nobody idles, and the silent get nothing',
  (keys) => {
    fc.assert(
      fc.property(ops, (sequence) => {
        const driver = new Driver(keys);
        for (const op of sequence) driver.step(op);
      }),
      { numRuns: 100 },
    );
  },
);
