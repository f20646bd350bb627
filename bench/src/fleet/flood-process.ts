import { connectBroker } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { setupOf } from '../processes.ts';
import { serveLoad } from './load-orders.ts';
import type { Ended } from './steady-load.ts';

/** An agent that sends to another one as fast as it may, and that other agent, which acks its messages. */
export interface FloodSetup {
  url: string;
  sender: string;
  senderToken: string;
  taker: string;
  takerToken: string;
  lanes: number;
}

const { url, sender, senderToken, taker, takerToken, lanes } = setupOf<FloodSetup>();
/** The wait after a refusal that names no time, in milliseconds: the other agent's inbox is full and is being read. */
const fullMs = 20;
const body = { text: 'x'.repeat(300) };
const source = await connectBroker({ url, token: senderToken, agent: sender });
const sink = await connectBroker({ url, token: takerToken, agent: taker });
const { messages } = await sink.subscribe({ window: 1000 });

/** Acks the messages of one turn of the event loop with one frame. */
const takeAll = async (): Promise<void> => {
  let taken: number[] = [];
  const ack = (): void => {
    sink.ack(taken).catch(() => {});
    taken = [];
  };
  for await (const { seq } of messages) if (taken.push(seq!) === 1) setImmediate(ack);
};
void takeAll();

const send = async (): Promise<Ended> => {
  try {
    await source.deliver({ to: taker, kind: 'note', body });
    return 'done';
  } catch (thrown) {
    if (!(thrown instanceof SignalboxError) || !thrown.retryable) throw thrown;
    const { retryAfterMs } = thrown.details;
    return { retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : fullMs };
  }
};
serveLoad([{ lanes, operation: send }], () => Promise.all([source.close(), sink.close()]));
