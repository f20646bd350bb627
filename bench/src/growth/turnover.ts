import { randomBytes } from 'node:crypto';
import type { BrokerClient } from '@signalbox/client';
import { unlessAborted } from '../abortable.ts';
import type { GrowthBroker } from './growth-broker.ts';
import type { CostKind } from './growth-report.ts';

/** The number of messages that are sent and taken at a time; an inbox grows and shrinks by that many. */
export const turnoverMessages = 1024;
const inFlight = 64;
const warmUps = 3;

/** The costs of messages on their way in and out. Times per message are in microseconds. */
export interface Turnover {
  deliverUs: number;
  deliverCpuUs: number;
  /** The time from `subscribe` to the first message. */
  headMs: number;
  peekMs: number;
  /** The time to receive and ack a message, 64 at a time. */
  takeUs: number;
  takeCpuUs: number;
}

const target = { timesSmallest: 2 };

export const turnoverKinds: Record<keyof Turnover, CostKind> = {
  deliverUs: { name: '`deliver` with receipt, 64 in flight, per message', unit: 'µs', target },
  deliverCpuUs: { name: '`deliver`: CPU time of the broker, per message', unit: 'µs', target },
  takeUs: { name: 'receive and `ack`, 64 at a time, per message', unit: 'µs', target },
  takeCpuUs: { name: 'receive and `ack`: CPU time of the broker, per message', unit: 'µs', target },
  headMs: { name: 'head fetch: `subscribe` to the first message', unit: 'ms', target },
  peekMs: { name: '`peek` of one message', unit: 'ms', target },
};

const text = randomBytes(300).toString('base64url').slice(0, 276);

/** Delivers messages with 64 in flight; `inboxOf` returns the inbox of each one. */
export async function deliverMany(sender: BrokerClient, inboxOf: () => string): Promise<void> {
  let left = turnoverMessages;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await sender.deliver({ to: inboxOf(), kind: 'note', body: { n: left, text } });
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

/** Delivers to an inbox that nobody holds, then takes as many from its head. Afterwards it holds as many messages as before. */
export async function turnOver(
  broker: GrowthBroker,
  sender: BrokerClient,
  inbox: { agent: string; token: string },
): Promise<Turnover> {
  const delivered = await broker.costOf(() => deliverMany(sender, () => inbox.agent));
  await using taker = await broker.connect(inbox);
  const asked = performance.now();
  await taker.peek({ limit: 1 });
  const subscribing = performance.now();
  const { messages } = await taker.subscribe({ window: inFlight });
  let next = await messages.next();
  const headMs = performance.now() - subscribing;
  const taken = await broker.costOf(async () => {
    for (let left = turnoverMessages; left > 0; left -= inFlight) {
      if (left < turnoverMessages) next = await messages.next();
      const seqs = [next.value!.seq!];
      while (seqs.length < inFlight) seqs.push((await messages.next()).value!.seq!);
      const { rejected } = await taker.ack(seqs);
      if (rejected.length > 0) throw new Error(`${rejected.length} acks were rejected`);
    }
  });
  const perMessage = (ms: number): number => (ms * 1000) / turnoverMessages;
  return {
    deliverUs: perMessage(delivered.wallMs),
    deliverCpuUs: perMessage(delivered.cpuMs),
    headMs,
    peekMs: subscribing - asked,
    takeUs: perMessage(taken.wallMs),
    takeCpuUs: perMessage(taken.cpuMs),
  };
}

/** Connects a sender to a broker that was warmed up with messages of another inbox. */
export async function openWarm(
  broker: GrowthBroker,
  signal: AbortSignal,
): Promise<AsyncDisposable & { sender: BrokerClient }> {
  await using opened = new AsyncDisposableStack();
  const [sendersToken, warmToken] = await broker.issue(['sender', 'warm']);
  const sender = opened.use(await broker.connect({ agent: 'sender', token: sendersToken! }));
  for (let i = 0; i < warmUps; i++) {
    await unlessAborted(signal, () => turnOver(broker, sender, { agent: 'warm', token: warmToken! }));
  }
  const resources = opened.move();
  return { sender, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Repeats the turnover for this many seconds, at least once. */
export async function turnOverFor(
  seconds: number,
  signal: AbortSignal,
  once: () => Promise<unknown>,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  do await unlessAborted(signal, once);
  while (performance.now() < end);
}
