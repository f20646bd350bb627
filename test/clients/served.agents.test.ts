import { existsSync } from 'node:fs';
import { glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { counterServer, readCounter } from '@signalbox/testing';
import { afterAll, beforeAll, test as each, expect } from 'vitest';
import type { Workspace } from '../support/cli/workspace.ts';
import { makePlace } from '../support/clients/run-client.ts';
import { type ServedCli, serveCli } from '../support/clients/serve-cli.ts';
import { programOf, type ServedName, servedAgents } from '../support/clients/served-agents.ts';
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
  workspace = await startThrough((directory) => ({ counter: counterServer(join(directory, 'counted')) }));
  // Gemini CLI reads no settings below a folder in which others may write, such as /tmp.
  base = await mkdtemp(join(userInfo().homedir, '.signalbox-test-'));
});
afterAll(async () => {
  await workspace?.[Symbol.asyncDispose]();
  await rm(base, { recursive: true, force: true });
});

/** Defines a test for each of some agents. */
function testOf(names: readonly ServedName[], title: string, run: (name: ServedName) => Promise<void>): void {
  for (const name of names) each.runIf(programOf(name))(`${name}: ${title}`, () => run(name));
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

/** Returns the process id of the broker, which `up` starts again after a kill. */
function brokerOf({ directory }: Workspace): number {
  const isBroker = (text: string) => / broker --data (\S+)/.exec(text)?.[1]?.startsWith(directory);
  return everyProcess().find(({ text }) => isBroker(text))!.pid;
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

testOf(
  ['kilo', 'pi'],
  'is kept for its thread, too, and answers with our tools if it takes MCP servers.',
  async (name) => {
    await using served = await serve(name, { args: keep, steps: name === 'pi' ? [] : [[echo]] });
    for (let turn = 0; turn < 2; turn++) expect(await served.ask('one')).toBe(done);
    expect(served.events('turn_started')).toMatchObject([{}, { kept: true }]);
    const codes = served.events('warning').map(({ code }) => code);
    expect(codes).toEqual(name === 'pi' ? ['no_tools', 'no_tools'] : []);
    if (name === 'kilo') expect(JSON.stringify(served.model.read.get('0.0'))).toContain('Echo: hello');
    served.run.kill('SIGTERM');
    await served.run.ended;
    expect(processesOf(served)).toEqual([]);
  },
);

testOf([...speakAcp, 'kilo', 'pi'], 'an error of its model is no answer.', async (name) => {
  await using served = await serve(name);
  served.mood = 400;
  const asked = served.ask('one');
  await expect.poll(() => outcomes(served), { timeout: 120_000 }).toEqual(['failed']);
  // pi tells nothing of it.
  const told = name === 'pi' ? 'pi ended the turn without an answer' : 'imitated 400';
  expect(served.events('turn_ended')[0]?.reason).toContain(told);
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

testOf([...speakAcp, 'kilo'], 'mail waits for a login that has ended: no try counts.', async (name) => {
  // Without it claude tries for three minutes.
  await using served = await serve(name, { setup: { env: { CLAUDE_CODE_MAX_RETRIES: '0' } } });
  served.mood = 401;
  const asked = served.ask('one', { timeout: '500s' });
  await expect.poll(() => outcomes(served).length, { timeout: 240_000 }).toBeGreaterThan(1);
  expect(outcomes(served).every((outcome) => outcome === 'failed')).toBe(true);
  expect(served.events('program_failing')).toHaveLength(1);
  served.mood = 'usual';
  expect(await asked).toBe(done);
  const messages = served.events('turn_started').flatMap((turn) => turn.messages as { attempt: number }[]);
  expect(messages.map(({ attempt }) => attempt)).toEqual(messages.map(() => 1));
  expect(served.events('program_works')).toHaveLength(1);
});

testOf(['claude'], 'its notices stand in no reply.', async (name) => {
  const [bin, wire] = [join(base, 'bin'), join(base, 'wire')];
  await mkdir(bin);
  const program = `#!/bin/sh\n'${programOf(name)}' "$@" | tee '${wire}'\n`;
  await writeFile(join(bin, 'claude-agent-acp'), program, { mode: 0o755 });
  const env = { PATH: [bin, process.env.PATH].join(delimiter) };
  // claude tells what a hook of its user says.
  const hook = { type: 'command', command: `echo '{"systemMessage":"mind the gap"}'` };
  const settings = { hooks: { UserPromptSubmit: [{ hooks: [hook] }], Stop: [{ hooks: [hook] }] } };
  const files = { '.claude/settings.json': JSON.stringify(settings) };
  await using served = await serve(name, { setup: { env, files } });
  expect(await served.ask('one')).toBe(done);
  expect((await readFile(wire, 'utf8')).match(/"sessionUpdate":"notice"[^\n]*mind the gap/g)).toHaveLength(2);
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
  speakAcp,
  'kill -9 of agent, face, broker or serve in the middle of a turn: answered once, and a call that is not safe is made once.',
  async (name) => {
    await using served = await serve(name, { args: keep });
    for (const victim of ['agent', 'face', 'broker', 'serve']) {
      const file = join(base, `${name}-${victim}`);
      const starts = () =>
        readCounter(join(workspace.directory, 'counted')).filter(
          ({ at, args }) => at === 'start' && args.file === file,
        ).length;
      // The model does not repeat a call whose result it never read.
      served.steps.push([{ tool: 'mcp_counter__gate', args: { file }, once: true }]);
      const asked = served.ask('one', { timeout: '400s' });
      await expect.poll(starts, { timeout: 120_000 }).toBe(1);
      const agent = Number(served.events('turn_started').at(-1)?.pid);
      const shim = everyProcess().find(
        ({ text }) => text.includes(`HOME=${served.place.home}`) && text.includes(' worker mcp '),
      );
      if (victim === 'agent') process.kill(agent, 'SIGKILL');
      if (victim === 'face') process.kill(shim!.pid, 'SIGKILL');
      if (victim === 'broker') process.kill(brokerOf(workspace), 'SIGKILL');
      if (victim === 'serve') {
        served.run.kill('SIGKILL');
        await served.again();
      }
      await writeFile(file, '');
      expect(await asked, victim).toBe(done);
      expect(starts(), victim).toBe(1);
      const ids = served.events('turn_started').map(({ messages }) => JSON.stringify(messages));
      if (victim === 'broker') expect(new Set(ids).size).toBe(ids.length);
    }
    served.run.kill('SIGTERM');
    await served.run.ended;
    await expect.poll(() => processesOf(served)).toEqual([]);
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
    // What belongs to the command itself is not below the agent. codex starts servers in groups of their own, which end with their input.
    const left = () => processesOf(served).filter((text) => text.includes('SIGNALBOX_TURN'));
    await expect.poll(left).toEqual([]);
    served.mood = 'usual';
    expect(await served.ask('one')).toBe(done);
  },
);
