import { basename } from 'node:path';
import type { AgentSetup } from './agent-plan.ts';
import { type AgentPresence, openPresence } from './agent-presence.ts';
import { type AgentProcess, type AgentProcessOptions, startAgentProcess } from './agent-process.ts';
import type { ChildToken, IssueToken } from './child-token.ts';
import type { Minder } from './minder.ts';
import { type AgentOutput, outputLane } from './output-lane.ts';
import type { RunRoot } from './run-directory.ts';
import type { ProcessEnd, RunEvent, RunWarning } from './run-event.ts';
import { openRunPlace, type RunPlace } from './run-place.ts';
import { watchProcess } from './run-watch.ts';

/** What every process of one agent is run with. */
export interface AgentRunOptions {
  setup: AgentSetup;
  /** The program of the command line, found. */
  program: string;
  stdin: AgentProcessOptions['stdin'];
  /** Where its output goes; absent where the agent has the terminal to itself. */
  output?: AgentOutput;
  /** Directories to make run directories in, best first. */
  roots: readonly RunRoot[];
  issueToken: IssueToken;
  minder: Minder;
  /** From TERM to KILL. */
  graceMs: number;
  readyTimeoutMs: number;
  onEvent: (event: RunEvent) => void;
}

/** How a run is ended from outside. */
export interface RunControl {
  readonly signal: AbortSignal;
  /** The process that runs now. */
  process: AgentProcess | undefined;
}

/** Runs one process with a token of its own to its end. `undefined` if it was called off before it began. */
export async function runOnce(
  options: AgentRunOptions,
  restarts: number,
  control: RunControl,
): Promise<ProcessEnd | undefined> {
  // What can be refused on this machine is, before a token is made.
  const place = await openRunPlace(options.setup, { roots: options.roots, minder: options.minder });
  try {
    return await withToken(place, { ...options, restarts, control });
  } finally {
    await leave(place, options);
  }
}

interface TokenlessRun extends AgentRunOptions {
  restarts: number;
  control: RunControl;
}

async function withToken(place: RunPlace, run: TokenlessRun): Promise<ProcessEnd | undefined> {
  const { url, agent } = run.setup;
  const token = await run.issueToken(agent);
  let retired = false;
  const retire: ChildToken['retire'] = (end) => {
    retired = true;
    return token.retire(end);
  };
  try {
    await place.putToken(token.text);
    await using presence = await openPresence({ url, agent, token: token.text });
    if (run.control.signal.aborted) return undefined;
    return await inPlace(place, { ...run, presence, retire });
  } finally {
    if (!retired) await retire(undefined);
  }
}

interface PlacedRun extends TokenlessRun {
  presence: AgentPresence;
  retire: ChildToken['retire'];
}

async function inPlace({ plan, holds }: RunPlace, run: PlacedRun): Promise<ProcessEnd> {
  const { setup, program, stdin, output, graceMs, restarts, control, onEvent } = run;
  const { agent, cwd, env } = setup;
  let onOutput = (): void => {};
  const child = await startAgentProcess({
    program,
    argv: plan.injection.argv,
    cwd,
    env: { ...env, ...plan.variables },
    stdin,
    ...(output && { lanes: lanesFor(output) }),
    onOutput: () => onOutput(),
    graceMs,
  });
  holds(child.own);
  control.process = child;
  if (control.signal.aborted) child.stop();
  const { pid } = child.own;
  const command = basename(plan.injection.argv[0] ?? program);
  onEvent({ event: 'started', agent, pid, command, restarts });
  const watch = watchProcess(child, { ...run, command, expectsFace: plan.injection.client !== 'other' });
  onOutput = watch.onOutput;
  const end = await child.exited;
  watch.stop();
  await run.presence[Symbol.asyncDispose]();
  const [report] = await Promise.all([run.retire(end), child.cleanUp()]);
  control.process = undefined;
  const wrote = hasFailed(end) ? child.tail.text() : '';
  onEvent({ event: 'exited', agent, pid, ...end, ...report, output: wrote });
  return end;
}

function lanesFor({ stdout, stderr, prefix }: AgentOutput): NonNullable<AgentProcessOptions['lanes']> {
  return { stdout: outputLane(stdout, prefix), stderr: outputLane(stderr, prefix) };
}

/** It ended by a signal, or with another code than 0. */
export function hasFailed({ code }: ProcessEnd): boolean {
  return code !== 0;
}

async function leave(place: RunPlace, { setup, onEvent }: AgentRunOptions): Promise<void> {
  const restored = await place.leave();
  const path = place.plan.injection.workspace?.path;
  if (path === undefined || restored === undefined || restored === 'restored') return;
  const code: RunWarning = 'workspace_file_changed';
  const message =
    restored === 'edited'
      ? `${path} was changed while the agent ran: the changes stay, only our entry is out of it`
      : `${path} is no JSON any more, so our entry 'signalbox' is left in it: take it out by hand`;
  onEvent({ event: 'warning', agent: setup.agent, code, message });
}
