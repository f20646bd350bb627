import { existsSync } from 'node:fs';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, test as each, expect } from 'vitest';
import type { Workspace } from '../support/cli/workspace.ts';
import { makePlace } from '../support/clients/run-client.ts';
import { type ServedCli, serveCli } from '../support/clients/serve-cli.ts';
import { isInstalled, type ServedName, servedAgents } from '../support/clients/served-agents.ts';
import { startThrough } from '../support/clients/through-record.ts';
import { root } from '../support/packages/documented-programs.ts';
import { everyProcess } from '../support/processes.ts';

/** Real agents under `worker serve`. Those that are not on the PATH are skipped; `npm run test:clients -- --install` gets them. */
process.env.PATH = [process.env.PATH, join(root, 'node_modules/.cache/clients/node_modules/.bin')].join(
  delimiter,
);
const speakAcp = ['claude', 'codex', 'gemini', 'opencode', 'qwen', 'copilot'] as const;
const echo = { tool: 'mcp_everything__echo', args: { message: 'hello' } };
const ask = ['--permissions', 'ask'];
const keep = ['--keep', '10m'];
const done = 'All is done.';
let workspace: Workspace;
let base: string;
let places = 0;

beforeAll(async () => {
  workspace = await startThrough();
  // Gemini CLI reads no settings below a folder in which others may write, such as /tmp.
  base = await mkdtemp(join(userInfo().homedir, '.signalbox-test-'));
});
afterAll(async () => {
  await workspace?.[Symbol.asyncDispose]();
  await rm(base, { recursive: true, force: true });
});

/** Defines a test for each of some agents. */
function testOf(names: readonly ServedName[], title: string, run: (name: ServedName) => Promise<void>): void {
  for (const name of names) each.runIf(isInstalled(name))(`${name}: ${title}`, () => run(name));
}

async function serve(name: ServedName, how?: Parameters<typeof serveCli>[3]): Promise<ServedCli> {
  const place = await makePlace(join(base, String(++places)), new AbortController().signal);
  return await serveCli(workspace, name, place, how);
}

const outcomes = (served: ServedCli) => served.events('turn_ended').map(({ outcome }) => outcome);

/** Lists the processes with the home of an agent. */
function processesOf({ place }: ServedCli): string[] {
  return everyProcess().flatMap(({ text }) => (text.includes(`HOME=${place.home}`) ? [text] : []));
}

testOf(
  speakAcp,
  'has our tools in each turn, and a kept process takes a turn in a quarter of the time.',
  async (name) => {
    await using served = await serve(name, { args: keep, steps: [[echo]] });
    expect(await served.ask('one')).toBe(done);
    for (let turn = 0; turn < 2; turn++) {
      served.steps.push([echo]);
      expect(await served.ask('one')).toBe(done);
    }
    for (const call of ['0.0', '1.0', '2.0'])
      expect(JSON.stringify(served.model.read.get(call))).toContain('Echo: hello');
    expect(served.events('turn_started')).toMatchObject([{}, { kept: true }, { kept: true }]);
    expect(served.events('warning')).toEqual([]);
    const [cold = 0, ...warm] = served.events('turn_ended').map(({ took_ms: tookMs }) => Number(tookMs));
    process.stdout.write(
      `${name}: a turn of ${cold} ms, and of ${warm.join(' and ')} ms in a kept process\n`,
    );
    expect(Math.min(...warm)).toBeLessThanOrEqual(cold / 4);
    served.run.kill('SIGTERM');
    await served.run.ended;
    expect(processesOf(served)).toEqual([]);
  },
);

testOf(speakAcp, 'an error of its model is no answer.', async (name) => {
  await using served = await serve(name);
  served.mood = 400;
  const asked = served.ask('one');
  await expect.poll(() => outcomes(served), { timeout: 120_000 }).toEqual(['failed']);
  expect(served.events('turn_ended')[0]?.reason).toContain('imitated 400');
  served.mood = 'usual';
  expect(await asked).toBe(done);
});

testOf(['codex', 'copilot'], 'a model that is overloaded is no answer either.', async (name) => {
  await using served = await serve(name);
  served.mood = 529;
  const asked = served.ask('one');
  // copilot tries again for minutes.
  const isOver = () => outcomes(served)[0] === 'failed' || served.model.refused > 4;
  await expect.poll(isOver, { timeout: 120_000 }).toBe(true);
  expect(outcomes(served)).not.toContain('answered');
  served.mood = 'usual';
  expect(await asked).toBe(done);
});

testOf(
  speakAcp,
  'asks a person in each turn of a thread, in a new process, a kept one and one that goes on with the session.',
  async (name) => {
    await using served = await serve(name, { args: [...ask, ...keep] });
    const { shell } = servedAgents[name];
    const files = ['a', 'b', 'c'].map((file) => join(served.place.work, file));
    for (const [turn, file] of files.entries()) {
      if (turn === 2) {
        served.run.kill('SIGTERM');
        await served.again();
      }
      // codex runs other commands in its sandbox without a question.
      served.steps.push([shell(`touch ${file}; rm -rf ${file}-none`)]);
      const asked = served.ask('one');
      const shown: string[] = [];
      while (!existsSync(file)) {
        const questions = await Promise.race([served.waiting(), asked.then(() => [])]);
        if (questions.length === 0) break;
        for (const { id, arguments: text } of questions) {
          shown.push(text ?? '');
          await served.command('approve', id);
        }
      }
      expect(await asked).toBe(done);
      expect(shown.join('\n'), JSON.stringify([...served.model.read])).toContain(file);
      expect(existsSync(file)).toBe(true);
    }
    expect(served.events('turn_started').map(({ resumed }) => resumed)).toEqual([name !== 'gemini']);
    // An answer never holds for longer than one use.
    expect(existsSync(join(served.place.work, '.claude/settings.local.json'))).toBe(false);
  },
);

testOf(
  speakAcp,
  'a denied command is asked once, and if its turn ends with that, its sender is told.',
  async (name) => {
    const { shell } = servedAgents[name];
    await using served = await serve(name, { args: ask, steps: [[shell('rm -rf none')]] });
    const asked = served.ask('one');
    const [question] = await served.waiting();
    await served.command('deny', question!.id, '--reason', 'not on a Friday');
    const goesOn = name === 'claude' || name === 'gemini';
    expect(await asked).toContain(goesOn ? done : 'not on a Friday');
    expect(outcomes(served)).toEqual([goesOn ? 'answered' : 'denied']);
    const { approvals } = JSON.parse((await served.command('approvals', '--all', '--json')).stdout);
    expect(approvals.filter(({ agent }: { agent: string }) => agent === question!.agent)).toHaveLength(1);
  },
);

testOf(['opencode'], 'an approval that takes 100 s reaches it.', async (name) => {
  const file = join(base, 'late');
  const { shell } = servedAgents[name];
  await using served = await serve(name, { args: ask, steps: [[shell(`touch ${file}`)]] });
  const asked = served.ask('one', { timeout: '300s' });
  const [first] = await served.waiting();
  const age = () => Date.now() - first!.created_at;
  await expect.poll(age, { timeout: 150_000, interval: 1000 }).toBeGreaterThan(100_000);
  while (!existsSync(file)) for (const { id } of await served.waiting()) await served.command('approve', id);
  expect(await asked).toBe(done);
});

testOf(['gemini'], 'two asks within a minute leave its sessions listed.', async (name) => {
  await using served = await serve(name);
  // Each process begins with a session in which nobody says anything, and which the next process removes.
  const sessions = async () => {
    const files = await Array.fromAsync(glob(`${served.place.home}/.gemini/**/session-*`));
    const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
    return files.filter((_, at) => texts[at]?.includes('Use the tools.'));
  };
  let known: string[] = [];
  for (let turn = 0; turn < 3; turn++) {
    expect(await served.ask('one')).toBe(done);
    const now = await sessions();
    expect(now).toEqual(expect.arrayContaining(known));
    expect(now.length).toBeGreaterThan(known.length);
    known = now;
  }
});

testOf(
  ['gemini'],
  'nothing is left after kill -9 of worker serve, and its message is answered by the next one.',
  async (name) => {
    await using served = await serve(name, { args: ['--stop-timeout', '1s'] });
    served.mood = 'silent';
    const asked = served.ask('one');
    await expect.poll(() => served.events('turn_started')).toHaveLength(1);
    served.run.kill('SIGKILL');
    await served.run.ended;
    await expect.poll(() => processesOf(served)).toEqual([]);
    served.mood = 'usual';
    await served.again();
    expect(await asked).toBe(done);
  },
);

testOf(
  ['codex exec', 'opencode run', 'codex', 'gemini'],
  'an operator stops a turn whose model is silent: nothing is left, and the thread goes on.',
  async (name) => {
    await using served = await serve(name, { args: ['--stop-timeout', '2s'] });
    expect(await served.ask('one')).toBe(done);
    served.mood = 'silent';
    const asked = served.ask('one');
    await expect.poll(() => served.events('turn_started')).toHaveLength(2);
    const stop = () => served.command('worker', 'stop', 'AGENT', '--thread', 'one');
    await expect.poll(async () => (await stop()).code, { interval: 1000 }).toBe(0);
    expect(await asked).toMatch(/stopped by operator/);
    await expect.poll(() => outcomes(served)).toEqual(['answered', 'stopped_by_operator']);
    // What belongs to the command itself is not below the agent.
    const left = processesOf(served).filter((text) => text.includes('SIGNALBOX_TURN'));
    expect(left).toEqual([]);
    served.mood = 'usual';
    expect(await served.ask('one')).toBe(done);
  },
);
