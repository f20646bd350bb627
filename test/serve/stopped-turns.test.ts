import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRunning } from '../support/processes.ts';
import { serveAcp } from '../support/serve/served-acp.ts';
import { eventsOf, startStopStage } from '../support/serve/stop-stage.ts';

let here: Awaited<ReturnType<typeof startStopStage>>;

beforeAll(async () => {
  here = await startStopStage();
});
afterAll(() => here?.[Symbol.asyncDispose]());

test.each([['plain', { as: ['program'] }]])(
  'An operator stops a turn of a %s program: its message is a dead letter with her name, its processes are gone, and the next message is served.',
  async (name, how) => {
    const agent = `${name}-hangs`;
    const to = name === 'grouped' ? 'role:researcher' : agent;
    const { run, pids } = await here.serveHanging(agent, how);
    await using _run = run;
    const asked = here.stage.ask(to, 'forever');
    const processes = await pids();
    await expect
      .poll(async () => (await here.stage.command('ps', '--json')).stdout, { interval: 500 })
      .toMatch(/"private":\{"running":\[\{"id":"[^"]+","from":"asker","kind":"ask"/);
    const { stdout, code } = await here.asAna('worker', 'stop', agent);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^the turn of ${agent} is stopped.*\\nask \\S+ of asker is a dead letter.*dead retry \\d+$`,
        'm',
      ),
    );
    expect(await asked).toMatchObject({ status: 'undeliverable', detail: 'stopped by operator.ana' });
    expect(await here.deadOf(to)).toEqual([[expect.any(String), 'stopped by operator.ana']]);
    await expect.poll(() => processes.filter(isRunning)).toEqual([]);
    expect(await here.stage.ask(to, 'and now?')).toBe('served');
    await expect
      .poll(() => eventsOf(run, 'turn_ended'))
      .toMatchObject([
        { outcome: 'stopped_by_operator', reason: 'stopped by operator.ana' },
        { outcome: 'answered' },
      ]);
    const audit = await here.asAna('audit', '--json');
    expect(audit.stdout).toMatch(
      new RegExp(`"code":"work_stopped"[^\\n]*"agent":"operator.ana"[^\\n]*"name":"${agent}"`),
    );
  },
);

test('An agent that speaks ACP is told to cancel, and its open question is answered before that.', async () => {
  await using rosa = await serveAcp(here.stage.workspace, 'rosa', { args: ['--permissions', 'ask'] });
  const steps = [
    { asking: { toolCallId: 't1', title: 'make', rawInput: { a: 1 } } },
    { untilCancelled: true },
  ];
  const asked = here.stage.ask('rosa', steps);
  const [question] = await here.stage.waiting('rosa');
  await expect.poll(() => here.stop('rosa')).toMatchObject({ stopped: [{ kind: 'ask', from: 'asker' }] });
  expect(await asked).toMatchObject({ status: 'undeliverable', detail: 'stopped by operator.ana' });
  await expect.poll(() => rosa.events('turn_ended')).toMatchObject([{ outcome: 'stopped_by_operator' }]);
  expect(await readFile(join(rosa.home, 'cancelled.txt'), 'utf8')).toBe('cancelled');
  expect(await here.stage.waiting('rosa', 0)).toEqual([]);
  expect(await here.stage.ended(question!.id)).toMatchObject({ state: 'cancelled' });
  expect(await here.stage.ask('rosa', 'and now?')).toContain('turn 1');
});
