import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRunning } from '../support/processes.ts';
import { type Run, startRun } from '../support/runner/worker-run.ts';
import { type AcpStage, startAcpStage } from '../support/serve/acp-stage.ts';
import { serveAcp } from '../support/serve/served-acp.ts';

let stage: AcpStage;
let ana: Record<string, string>;

beforeAll(async () => {
  stage = await startAcpStage();
  // A person with a token of an operator. The name in the reason is that of her token.
  ({ env: ana } = await stage.workspace.agent('operator.ana', 'operator'));
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

const asAna = (...args: string[]) => stage.workspace.run(args, ana);
const stop = async (...args: string[]) => {
  const { code, stdout, stderr } = await asAna('worker', 'stop', '--json', ...args);
  return code === 0 ? JSON.parse(stdout) : { exit: code, ...JSON.parse(stderr).error };
};
const eventsOf = (run: Run, name: string) => run.events().filter(({ event }) => event === name);

/** The dead letters of an agent, with what its senders and operators see of each. */
async function deadOf(agent: string): Promise<unknown[]> {
  const { stdout } = await asAna('dead', 'list', '--json', '--inbox', agent);
  const { messages } = JSON.parse(stdout) as { messages: { id: string; reason: string }[] };
  return messages.map(({ id, reason }) => [id, reason]);
}

/** Serves an agent with a script. A first turn starts a child, writes both of their ids down, and hangs without heed of TERM. */
async function serveHanging(agent: string, { as = ['program'], args = [] as string[], help = '' } = {}) {
  const [name = '', ...words] = as;
  const home = join(stage.workspace.directory, `${agent}-home`);
  await mkdir(join(home, 'run'), { recursive: true, mode: 0o700 });
  const program = join(home, name);
  const script = `#!/bin/sh
if [ "$1" = --help ]; then echo '${help}'; exit; fi
if grep -q forever; then trap '' TERM; sleep 600 & echo $$ $! > '${home}/pids'; wait; wait; sleep 600; fi
${name === 'claude' ? `echo '{"type":"result","is_error":false,"result":"served"}'` : 'echo served'}
`;
  await writeFile(program, script);
  await chmod(program, 0o755);
  const own = ['--agent', agent, '--role', 'researcher', '--json', '--stop-timeout', '200ms', ...args];
  const run = startRun(
    [...own, '--data', join(stage.workspace.directory, 'state'), '--', program, ...words],
    {
      cwd: home,
      env: {
        HOME: home,
        XDG_RUNTIME_DIR: join(home, 'run'),
        SIGNALBOX_URL: stage.workspace.ready.broker.url,
      },
      part: 'serve',
    },
  );
  await expect.poll(() => eventsOf(run, 'serving'), { timeout: 30_000 }).toHaveLength(1);
  return {
    run,
    pids: async () => {
      await expect.poll(() => readFile(join(home, 'pids'), 'utf8').catch(() => '')).toMatch(/^\d+ \d+\n$/);
      return (await readFile(join(home, 'pids'), 'utf8')).trim().split(' ').map(Number);
    },
  };
}

test.each([
  ['plain', { as: ['program'] }],
  ['claude', { as: ['claude', '-p'], help: '--print --output-format --resume' }],
  ['grouped', { args: ['--group', 'role:researcher'] }],
])(
  'An operator stops a turn of a %s program: its message is a dead letter with her name, its processes are gone, and the next message is served.',
  async (name, how) => {
    const agent = `${name}-hangs`;
    const to = name === 'grouped' ? 'role:researcher' : agent;
    const { run, pids } = await serveHanging(agent, how);
    await using _run = run;
    const asked = stage.ask(to, 'forever');
    const processes = await pids();
    await expect
      .poll(async () => (await stage.command('ps', '--json')).stdout)
      .toMatch(/"private":\{"running":\[\{"id":"[^"]+","from":"asker","kind":"ask"/);
    const { stdout, code } = await asAna('worker', 'stop', agent);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^the turn of ${agent} is stopped.*\\nask \\S+ of asker is a dead letter.*dead retry \\d+$`,
        'm',
      ),
    );
    expect(await asked).toMatchObject({ status: 'undeliverable', detail: 'stopped by operator.ana' });
    expect(await deadOf(to)).toEqual([[expect.any(String), 'stopped by operator.ana']]);
    await expect.poll(() => processes.filter(isRunning)).toEqual([]);
    expect(await stage.ask(to, 'and now?')).toBe('served');
    await expect
      .poll(() => eventsOf(run, 'turn_ended'))
      .toMatchObject([
        { outcome: 'stopped_by_operator', reason: 'stopped by operator.ana' },
        { outcome: 'answered' },
      ]);
    const audit = await asAna('audit', '--json');
    expect(audit.stdout).toMatch(
      new RegExp(`"code":"work_stopped"[^\\n]*"agent":"operator.ana"[^\\n]*"name":"${agent}"`),
    );
  },
);

test('All notes of a stopped turn are dead letters, not only the one that was named, and nothing of them is tried again.', async () => {
  const { run, pids } = await serveHanging('noted', { args: ['--note-wait', '500ms'] });
  await using _run = run;
  for (const id of ['n1', 'n2', 'n3'])
    await stage.asker.deliver({ to: 'noted', kind: 'note', body: 'forever', id });
  const processes = await pids();
  expect(eventsOf(run, 'turn_started')).toMatchObject([
    { messages: [{ id: 'n1' }, { id: 'n2' }, { id: 'n3' }] },
  ]);
  expect(await stop('noted', '--message', 'n2')).toMatchObject({ agent: 'noted', stopped: [{ id: 'n2' }] });
  await expect
    .poll(() => deadOf('noted'))
    .toEqual(['n1', 'n2', 'n3'].map((id) => [id, 'stopped by operator.ana']));
  await expect.poll(() => processes.filter(isRunning)).toEqual([]);
  expect(await stage.ask('noted', 'and now?')).toBe('served');
  expect(eventsOf(run, 'turn_started')).toHaveLength(2);
});

test('A dead letter that is put back while its stopped turn ends is served after it.', async () => {
  const { run, pids } = await serveHanging('again', { args: ['--stop-timeout', '3s'] });
  await using _run = run;
  const asked = stage.ask('again', 'forever', { thread: 'T' });
  const first = await pids();
  const { stopped } = await stop('again', '--thread', 'T');
  expect(await asked).toMatchObject({ status: 'undeliverable' });
  expect((await asAna('dead', 'retry', String(stopped[0].seq))).code).toBe(0);
  await expect.poll(() => eventsOf(run, 'turn_started'), { timeout: 20_000 }).toHaveLength(2);
  expect(first.filter(isRunning)).toEqual([]);
  await expect.poll(() => stop('again', '--thread', 'T')).toMatchObject({ stopped: [{ thread: 'T' }] });
});

test('An agent that speaks ACP is told to cancel, and its open question is answered before that.', async () => {
  await using rosa = await serveAcp(stage.workspace, 'rosa', { args: ['--permissions', 'ask'] });
  const steps = [
    { asking: { toolCallId: 't1', title: 'make', rawInput: { a: 1 } } },
    { untilCancelled: true },
  ];
  const asked = stage.ask('rosa', steps);
  const [question] = await stage.waiting('rosa');
  await expect.poll(() => stop('rosa')).toMatchObject({ stopped: [{ kind: 'ask', from: 'asker' }] });
  expect(await asked).toMatchObject({ status: 'undeliverable', detail: 'stopped by operator.ana' });
  await expect.poll(() => rosa.events('turn_ended')).toMatchObject([{ outcome: 'stopped_by_operator' }]);
  expect(await readFile(join(rosa.home, 'cancelled.txt'), 'utf8')).toBe('cancelled');
  expect(await stage.waiting('rosa', 0)).toEqual([]);
  expect(await stage.ended(question!.id)).toMatchObject({ state: 'cancelled' });
  expect(await stage.ask('rosa', 'and now?')).toContain('turn 1');
});

test('Without such a turn nothing is stopped, and the error names the turns that run.', async () => {
  const { run, pids } = await serveHanging('busy', { args: ['--concurrency', '2'] });
  await using _run = run;
  expect(await stop('busy')).toMatchObject({ exit: 1, code: 'not_working', message: 'no turn of busy runs' });
  const unserved = { exit: 1, message: 'signalbox worker serve does not serve an agent nobody' };
  expect(await stop('nobody')).toMatchObject(unserved);
  const asked = ['one', 'two'].map((thread) => stage.ask('busy', 'forever', { thread }));
  await pids();
  await expect
    .poll(() => stop('busy'), { interval: 300 })
    .toMatchObject({
      exit: 2,
      message: '2 turns of busy run',
      hint: expect.stringMatching(
        /^name one with --message or --thread: .*thread (one|two),.*thread (one|two),/,
      ),
    });
  expect(await stop('busy', '--message', 'm9')).toMatchObject({
    exit: 1,
    message: "'busy' does not work on the message 'm9' now",
    hint: expect.stringMatching(/^these turns run: .*busy: ask \S+ of asker, thread one, for/),
  });
  expect(await deadOf('busy')).toEqual([]);
  const agent = await stage.workspace.agent('worker', 'researcher');
  const refused = await stage.workspace.run(['worker', 'stop', 'busy', '--thread', 'one'], agent.env);
  expect(refused).toMatchObject({ code: 77, stderr: expect.stringContaining('operator') });
  for (const thread of ['one', 'two'])
    expect(await stop('busy', '--thread', thread)).toMatchObject({ stopped: [{ thread }] });
  expect(await Promise.all(asked)).toMatchObject([
    { detail: 'stopped by operator.ana' },
    { detail: 'stopped by operator.ana' },
  ]);
});
