import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unlessAborted } from '../abortable.ts';
import { type MeasuredRun, medianOf } from '../measure.ts';
import { type Child, startProcess } from '../processes.ts';
import type { AsksReport } from '../report/benchmarks.ts';
import type { RoundsOptions } from '../rounds.ts';
import { issueWorkerTokens, startUp } from '../signalbox-up.ts';
import { unlimitedMessages } from '../unlimited.ts';
import type { AskPart } from './ask-process.ts';

const ways = [
  { name: 'library', title: 'the client library' },
  { name: 'a2a', title: 'A2A, through the bridge' },
] as const;
const inFlight = [1, 16];
const unlimited = 1e12;
const answerTimeoutMs = 60_000;

/** Measures the same ask by the library, and as a blocking message over A2A. */
export async function runAsks({ rounds, seconds, signal, tell }: RoundsOptions): Promise<AsksReport> {
  tell('starting signalbox up with a bridge to clients of A2A');
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-bench-asks-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const limits = { tasksPerCaller: unlimited, bytesPerCaller: unlimited, bytes: unlimited };
  const config = {
    broker: { listen: '127.0.0.1:0', data: './state', limits: unlimitedMessages },
    roles: { outside: { tools: [], send: { to: ['rosa'], kinds: ['ask'] } }, crew: { tools: [] } },
    a2a: { listen: '127.0.0.1:0', agents: { rosa: { description: 'answers' } }, roles: ['outside'], limits },
  };
  await writeFile(join(home, 'signalbox.yaml'), JSON.stringify(config));
  const env = { PATH: process.env.PATH ?? '', HOME: home, SIGNALBOX_LOG: 'error' };
  const command = fileURLToPath(new URL('../../../apps/cli/bin/signalbox.js', import.meta.url));
  const { ready } = opened.use(await startUp([command], { home, env, options: ['--no-face'] }));
  const { rosa } = await issueWorkerTokens(ready, ['rosa'], 'crew');
  const tokens = await issueWorkerTokens(ready, ['library', 'a2a'], 'outside');
  const { url } = ready.broker;
  const start = async (part: AskPart): Promise<Child> =>
    opened.use(await startProcess(new URL('./ask-process.ts', import.meta.url), part));
  await start({ part: 'agent', url, agent: 'rosa', token: rosa! });
  const clients = {
    library: await start({ part: 'library', url, agent: 'library', token: tokens.library! }),
    a2a: await start({ part: 'a2a', url: ready.a2a!.agents.rosa!, token: tokens.a2a! }),
  };
  const measured = inFlight.flatMap((lanes) =>
    ways.map((way) => ({ ...way, lanes, runs: [] as MeasuredRun[] })),
  );
  for (let round = 1; round <= rounds; round++) {
    for (const { name, lanes, runs } of round % 2 === 0 ? measured.toReversed() : measured) {
      const order = { lanes, seconds };
      const run = await unlessAborted(signal, () =>
        clients[name].ask<MeasuredRun>(order, seconds * 1000 + answerTimeoutMs),
      );
      runs.push(run);
      tell(`round ${round} of ${rounds}: asks/${lanes} ${name} p50 ${run.p50Ms.toFixed(2)} ms`);
    }
  }
  const rows = measured.map(({ name, title, lanes, runs }) => ({
    ...{ name, title, inFlight: lanes },
    ...medianOf(runs),
    rounds: runs.map(({ perSecond, p50Ms, p99Ms }) => ({ perSecond, p50Ms, p99Ms })),
  }));
  return { rows };
}
