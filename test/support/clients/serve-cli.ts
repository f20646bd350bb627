import { join } from 'node:path';
import type { Approval } from '@signalbox/protocol';
import { expect } from 'vitest';
import type { Workspace } from '../cli/workspace.ts';
import { type Run, startRun } from '../runner/worker-run.ts';
import { agentClis, type ClientSetup } from './agent-clis.ts';
import { type Mood, type Step, startScriptedModel } from './model-server.ts';
import { type ClientPlace, prepare } from './run-client.ts';
import { type ServedAgent, type ServedName, servedAgents } from './served-agents.ts';

/** A real agent that `worker serve` serves, and its model. */
export interface ServedCli extends AsyncDisposable {
  readonly run: Run;
  readonly place: ClientPlace;
  /** The steps of its model, to which a test may add some. */
  readonly steps: Step[];
  readonly model: Awaited<ReturnType<typeof startScriptedModel>>;
  mood: Mood;
  events(name: string): Record<string, unknown>[];
  /** Asks it in a thread. Returns what the command printed, or how it failed. */
  ask(thread: string, more?: { text?: string; timeout?: string }): Promise<string>;
  /** Resolves with the questions that wait for a person, as soon as there is one. */
  waiting(): Promise<Approval[]>;
  /** Runs a command as the operator. */
  command(...args: string[]): ReturnType<Workspace['run']>;
  /** Serves it again after its end. */
  again(): Promise<void>;
}

let served = 0;

/** Serves an agent under a name of its own, with an empty home. */
export async function serveCli(
  workspace: Workspace,
  name: ServedName,
  place: ClientPlace,
  { args = [], steps = [], setup: own = {} }: { args?: string[]; steps?: Step[]; setup?: ClientSetup } = {},
): Promise<ServedCli> {
  const agent = `agent-${++served}`;
  const { argv, model: setup = () => ({}) } = servedAgents[name] as ServedAgent;
  const cli = agentClis.find((one) => one.name === name.split(' ')[0]);
  const state: { mood: Mood } = { mood: 'usual' };
  const model = await startScriptedModel(steps, () => state.mood);
  const { args: _options, ...ofCli } = cli?.model(model.url, place.home) ?? {};
  const { env } = await prepare(place, [ofCli, setup(model.url), own]);
  const asOperator = ['--data', join(workspace.directory, 'state')];
  const url = { SIGNALBOX_URL: workspace.ready.broker.url };
  const start = () =>
    startRun(
      [
        ...['--agent', agent, '--role', 'reader', '--json', '--retry-wait', '500ms', ...asOperator, ...args],
        ...['--', ...argv],
      ],
      { cwd: place.work, env: { ...env, XDG_RUNTIME_DIR: place.temporary, ...url }, part: 'serve' },
    );
  let run = start();
  const events = (event: string) => run.events().filter((one) => one.event === event);
  const isServing = () =>
    expect.poll(() => [events('serving').length, run.stderr()], { timeout: 60_000 }).toEqual([1, '']);
  await isServing();
  const command = (...words: string[]) => workspace.run([...words, ...asOperator], url);
  return {
    get run() {
      return run;
    },
    place,
    steps,
    model,
    get mood() {
      return state.mood;
    },
    set mood(mood) {
      state.mood = mood;
    },
    events,
    async ask(thread, { text = 'Use the tools.', timeout = '180s' } = {}) {
      const { stdout, stderr } = await command('ask', agent, text, '--thread', thread, '--timeout', timeout);
      return stdout.trim() || stderr;
    },
    async waiting() {
      let found: Approval[] = [];
      await expect
        .poll(
          async () => {
            const { stdout } = await command('approvals', '--json');
            found = JSON.parse(stdout).approvals.filter((one: Approval) => one.agent === agent);
            return found.length;
          },
          { timeout: 90_000, interval: 250 },
        )
        .toBeGreaterThan(0);
      return found;
    },
    command: (...words) => command(...words.map((word) => (word === 'AGENT' ? agent : word))),
    async again() {
      await run.ended;
      run = start();
      await isServing();
    },
    async [Symbol.asyncDispose]() {
      await run[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}
