import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRunning } from '../support/processes.ts';
import { eventsOf, startStopStage } from '../support/serve/stop-stage.ts';

let here: Awaited<ReturnType<typeof startStopStage>>;

beforeAll(async () => {
  here = await startStopStage();
});
afterAll(() => here?.[Symbol.asyncDispose]());

test.each([
  ['claude', { as: ['claude', '-p'], help: '--print --output-format --resume' }],
  ['grouped', { args: ['--group', 'role:researcher'] }],
])(
  'An operator stops a turn of a %s program: its message is a dead letter with her name, its processes are gone, and the next message is served.',
  async (name, how) => {
    const agent = `${name}-hangs`;
    const to = name === 'grouped' ? 'role:researcher' : agent;
    const { run, pids } = await here.serveHanging(agent, how);
    await using _run = run;
    const asked = here.stage.ask(to, 'forever');
    const processes = await pids();
    await expect
      .poll(async () => (await here.stage.command('ps', '--json')).stdout)
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

test('A dead letter that is put back while its stopped turn ends is served after it.', async () => {
  const { run, pids } = await here.serveHanging('again', { args: ['--stop-timeout', '3s'] });
  await using _run = run;
  const asked = here.stage.ask('again', 'forever', { thread: 'T' });
  const first = await pids();
  const { stopped } = await here.stop('again', '--thread', 'T');
  expect(await asked).toMatchObject({ status: 'undeliverable' });
  expect((await here.asAna('dead', 'retry', String(stopped[0].seq))).code).toBe(0);
  await expect.poll(() => eventsOf(run, 'turn_started'), { timeout: 20_000 }).toHaveLength(2);
  expect(first.filter(isRunning)).toEqual([]);
  await expect.poll(() => here.stop('again', '--thread', 'T')).toMatchObject({ stopped: [{ thread: 'T' }] });
});

test('Without such a turn nothing is stopped, and the error names the turns that run.', async () => {
  const { run, pids } = await here.serveHanging('busy', { args: ['--concurrency', '2'] });
  await using _run = run;
  expect(await here.stop('busy')).toMatchObject({
    exit: 1,
    code: 'not_working',
    message: 'no turn of busy runs',
  });
  const unserved = { exit: 1, message: 'signalbox worker serve does not serve an agent nobody' };
  expect(await here.stop('nobody')).toMatchObject(unserved);
  const asked = ['one', 'two'].map((thread) => here.stage.ask('busy', 'forever', { thread }));
  await pids();
  await expect
    .poll(() => here.stop('busy'), { interval: 300 })
    .toMatchObject({
      exit: 2,
      message: '2 turns of busy run',
      hint: expect.stringMatching(
        /^name one with --message or --thread: .*thread (one|two),.*thread (one|two),/,
      ),
    });
  expect(await here.stop('busy', '--message', 'm9')).toMatchObject({
    exit: 1,
    message: "'busy' does not work on the message 'm9' now",
    hint: expect.stringMatching(/^these turns run: .*busy: ask \S+ of asker, thread one, for/),
  });
  expect(await here.deadOf('busy')).toEqual([]);
  const agent = await here.stage.workspace.agent('worker', 'researcher');
  const refused = await here.stage.workspace.run(['worker', 'stop', 'busy', '--thread', 'one'], agent.env);
  expect(refused).toMatchObject({ code: 77, stderr: expect.stringContaining('operator') });
  for (const thread of ['one', 'two'])
    expect(await here.stop('busy', '--thread', thread)).toMatchObject({ stopped: [{ thread }] });
  expect(await Promise.all(asked)).toMatchObject([
    { detail: 'stopped by operator.ana' },
    { detail: 'stopped by operator.ana' },
  ]);
});

test('All notes of a stopped turn are dead letters, not only the one that was named, and nothing of them is tried again.', async () => {
  const { run, pids } = await here.serveHanging('noted', { args: ['--note-wait', '500ms'] });
  await using _run = run;
  for (const id of ['n1', 'n2', 'n3'])
    await here.stage.asker.deliver({ to: 'noted', kind: 'note', body: 'forever', id });
  const processes = await pids();
  expect(eventsOf(run, 'turn_started')).toMatchObject([
    { messages: [{ id: 'n1' }, { id: 'n2' }, { id: 'n3' }] },
  ]);
  expect(await here.stop('noted', '--message', 'n2')).toMatchObject({
    agent: 'noted',
    stopped: [{ id: 'n2' }],
  });
  await expect
    .poll(() => here.deadOf('noted'))
    .toEqual(['n1', 'n2', 'n3'].map((id) => [id, 'stopped by operator.ana']));
  await expect.poll(() => processes.filter(isRunning)).toEqual([]);
  expect(await here.stage.ask('noted', 'and now?')).toBe('served');
  expect(eventsOf(run, 'turn_started')).toHaveLength(2);
});
