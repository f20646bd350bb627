import { join } from 'node:path';
import { openPostgresStores } from '@signalbox/postgres';
import type { NewMessage } from '@signalbox/store';
import { monotonicMs } from '../fleet/monotonic-clock.ts';
import { type Child, startProcess } from '../processes.ts';
import { quantileOf } from '../statistics.ts';
import type { AgentsOrder, Arrivals, Connected } from './agents.ts';
import type { Latencies, ScaleReport } from './brokers-report.ts';

const schema = 'signalbox';
const day = 24 * 60 * 60 * 1000;
const filledAtOnce = 1000;
const answerTimeoutMs = 10 * 60 * 1000;

export interface ScaleOptions {
  inboxes: number;
  agents: number;
  /** Messages to agents at the same broker, and as many to agents at the other one. */
  wakeUps: number;
  tell: (line: string) => void;
}

/** Many inboxes with a message each, agents at two brokers, and then the death of one of these. */
export async function measureScale(
  url: string,
  dir: string,
  { inboxes, agents: count, wakeUps, tell }: ScaleOptions,
): Promise<ScaleReport> {
  tell(`filling ${inboxes} inboxes`);
  await fill(url, inboxes);
  await using opened = new AsyncDisposableStack();
  const start = async (broker: string): Promise<Child> => {
    const setup = { dataDir: join(dir, broker), postgres: { url, schema, broker } };
    return opened.use(await startProcess(new URL('scale-broker-process.ts', import.meta.url), setup));
  };
  const [one, other] = [await start('one'), await start('other')];
  tell(`making ${count} tokens`);
  const names = Array.from({ length: count }, (_, n) => `agent-${n}`);
  const [sender, ...tokens] = await one.ask<string[]>(['sender', ...names], answerTimeoutMs);
  const urls = [one.facts.url!, other.facts.url!];
  const agents = opened.use(
    await startProcess(new URL('agents-process.ts', import.meta.url), { urls, sender }),
  );
  const ask = <T>(order: AgentsOrder): Promise<T> => agents.ask<T>(order, answerTimeoutMs);
  const { connectedMs, at } = await ask<Connected>({
    type: 'connect',
    tokens: names.map((name, n) => [name, tokens[n]!]),
  });
  tell(
    `${count} agents are subscribed after ${connectedMs.toFixed(0)} ms: ${Object.values(at).join(' and ')}`,
  );
  const woken = await ask<{ same: number[]; across: number[] }>({
    type: 'wake',
    at: urls[1]!,
    samples: wakeUps,
  });
  const moved = await ask<number>({ type: 'expect', from: urls[0]! });
  tell(`killing the broker of ${moved} agents`);
  const killedAt = monotonicMs();
  process.kill(Number(one.facts.pid), 'SIGKILL');
  const { subscribedMs, servedMs } = await ask<Arrivals>({ type: 'move', from: urls[0]!, killedAt });
  return {
    inboxes,
    agents: count,
    connectedMs,
    wakeUps: { samples: wakeUps, same: latenciesOf(woken.same), across: latenciesOf(woken.across) },
    kill: { moved, subscribedMs: latenciesOf(subscribedMs), servedMs: latenciesOf(servedMs) },
  };
}

function latenciesOf(samples: readonly number[]): Latencies {
  return { p50: quantileOf(samples, 0.5), p99: quantileOf(samples, 0.99), longest: Math.max(...samples) };
}

async function fill(url: string, inboxes: number): Promise<void> {
  await using stores = await openPostgresStores({ url, schema, broker: 'filler' });
  const body = JSON.stringify('x'.repeat(300));
  for (let from = 0; from < inboxes; from += filledAtOnce) {
    const createdAt = Date.now();
    const messages = Array.from({ length: Math.min(filledAtOnce, inboxes - from) }, (_, n): NewMessage => {
      const sender = { sender: 'filler', senderAddress: 'filler', senderRole: 'worker' };
      const times = { createdAt, expiresAt: createdAt + day };
      return { ...sender, ...times, inbox: `filled-${from + n}`, id: `m${from + n}`, kind: 'note', body };
    });
    const appended = await stores.inboxes.commit({ messages, settlements: [], attempts: [] });
    const refused = appended.find(({ result }) => result !== 'stored');
    if (refused) throw new Error(`a message was not stored: ${refused.result}`);
  }
}
