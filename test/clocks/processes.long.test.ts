import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { acceptClock, issueToken, readClock } from '@signalbox/client/operator';
import { type BrokerReady, brokerMain, readCounter, startChild, tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { steppedClock } from '../support/clocks/stepped-clock.ts';

const orchestratorMain = new URL('../support/clocks/orchestrator-main.ts', import.meta.url);
const workerMain = new URL('../support/clocks/worker-main.ts', import.meta.url);
const hour = 3_600_000;
const steps = {
  'back by an hour': -hour,
  'back by ten seconds': -10_000,
  'forward by eight days': 192 * hour,
};

/** A broker, an orchestrator and a worker in processes of their own, each with a wall clock that can be stepped. */
async function startProcesses() {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(await tempDir());
  const counterFile = join(path, 'counter.jsonl');
  const brokerClock = steppedClock(join(path, 'broker-clock'));
  const orchestratorClock = steppedClock(join(path, 'orchestrator-clock'));
  const workerClock = steppedClock(join(path, 'worker-clock'));
  const args = [join(path, 'data'), '0'];
  const broker = starting.use(await startChild<BrokerReady>(brokerMain, { args, env: brokerClock.env }));
  const { url, operatorTokenFile } = broker.ready;
  const connect = async (agent: string, token: string): Promise<BrokerClient> =>
    starting.use(await connectBroker({ url, token, agent }));
  const operator = await connect('operator#test', (await readFile(operatorTokenFile, 'utf8')).trim());
  const [token, rosa, walt] = await Promise.all([
    issueToken(operator, { agent: 'orchestrator', role: 'orchestrator' }),
    issueToken(operator, { agent: 'rosa', role: 'worker' }),
    issueToken(operator, { agent: 'walt', role: 'worker' }),
  ]);
  const orchestratorArgs = [url, token.token, counterFile, join(path, 'journal.db')];
  const startOrchestrator = async () =>
    startChild(orchestratorMain, { args: orchestratorArgs, env: orchestratorClock.env });
  const worker = await connect('rosa', rosa.token);
  const started = starting.move();
  return {
    path,
    brokerClock,
    orchestratorClock,
    workerClock,
    operator,
    worker,
    startOrchestrator,
    call: (tool: string, args = {}, id?: string) =>
      worker.request(
        'orchestrator',
        'mcp_request',
        { op: 'call', tool: `mcp_counter__${tool}`, arguments: args },
        { timeoutMs: 100_000, ...(id !== undefined && { id }) },
      ),
    /** Starts the worker's process. The function that it returns has the process call a tool. */
    startWorker: async () => {
      const outcomes: ((outcome: unknown) => void)[] = [];
      const child = await startChild(workerMain, {
        args: [url, walt.token],
        env: workerClock.env,
        onMessage: (outcome) => outcomes.shift()?.(outcome),
      });
      started.use(child);
      return (tool: string) =>
        new Promise<unknown>((resolve) => {
          outcomes.push(resolve);
          child.send({ tool: `mcp_counter__${tool}` });
        });
    },
    starts: (tool: string) =>
      readCounter(counterFile).filter((line) => line.tool === tool && line.at === 'start'),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

describe('real processes whose wall clocks are stepped', () => {
  it('go on serving, and never run an unsafe call again', async () => {
    await using processes = await startProcesses();
    const { path, brokerClock, orchestratorClock, workerClock, operator, worker, call, starts } = processes;
    {
      await using orchestrator = await processes.startOrchestrator();
      const callFromProcess = await processes.startWorker();
      const inbox = await worker.subscribe();
      for (const clock of [brokerClock, orchestratorClock, workerClock]) {
        for (const [how, ms] of Object.entries(steps)) {
          clock.set(ms);
          expect(await callFromProcess('count'), how).toHaveProperty('result.success', true);
          await worker.deliver({ to: 'rosa', kind: 'note', body: how });
          const { value: note } = await inbox.messages.next();
          expect(note?.body).toBe(JSON.stringify(how));
          await worker.ack([note!.seq!]);
          clock.set(0);
        }
      }
      expect(starts('count')).toHaveLength(9);
      await acceptClock(operator);

      const unsafe = call('gate', { file: join(path, 'open') }, 'unsafe');
      await expect.poll(() => starts('gate')).toHaveLength(1);
      brokerClock.set(192 * hour);
      orchestratorClock.set(192 * hour);
      await expect.poll(() => readClock(operator)).toMatchObject({ requests: 1 });
      // The journal forgets what it may in the meantime.
      for (let i = 0; i < 2; i++) expect(await call('count')).toMatchObject({ status: 'completed' });
      await orchestrator.end('SIGKILL');
      await using _next = await processes.startOrchestrator();
      expect(await call('count')).toMatchObject({ status: 'completed' });
      brokerClock.set(0);
      expect(await unsafe).toMatchObject({
        status: 'completed',
        reply: { json: { error: { code: 'outcome_unknown', may_have_run: true } } },
      });
      expect(starts('gate')).toHaveLength(1);
      await writeFile(join(path, 'open'), '');
    }
  });
});
