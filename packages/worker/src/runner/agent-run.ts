import { basename } from 'node:path';
import type { AgentSetup } from './agent-plan.ts';
import { type AgentPresence, openPresence } from './agent-presence.ts';
import { type AgentProcess, type AgentProcessOptions, startAgentProcess } from './agent-process.ts';
import type { ChildToken, IssueToken } from './child-token.ts';
import type { CleanupProcess } from './cleanup/cleanup-process.ts';
import { type AgentOutput, outputWriter } from './output/output-writer.ts';
import type { RunRoot } from './run-directory.ts';
import type { ProcessEnd, RunEvent, RunWarning } from './run-event.ts';
import type { RunFace } from './run-face.ts';
import { prepareRunFiles, type RunFiles } from './run-files.ts';
import { watchProcess } from './run-watch.ts';

/** The longest last line of a failed process that operators are shown, in characters. */
const maxLineLength = 300;

/** The setup, the directories and the time limits of each process of one agent. */
export interface AgentRunOptions {
  setup: AgentSetup;
  /** The path of the command line's program. */
  program: string;
  stdin: AgentProcessOptions['stdin'];
  /** The sinks of the agent's output; absent if the agent has the terminal to itself. */
  output?: AgentOutput;
  /** Directories to make run directories in, best first. */
  roots: readonly RunRoot[];
  /** The directory of the records about changed workspace files. It must lie outside of every workspace. */
  records: string;
  issueToken: IssueToken;
  cleanup: CleanupProcess;
  /** The time between TERM and KILL, in milliseconds. */
  graceMs: number;
  /** The time without a connection of the agent's MCP face after which a warning is reported, in milliseconds. */
  readyTimeoutMs: number;
  /** The shared face to which its shims connect, if there is one; `setup` names its socket. */
  face?: RunFace | undefined;
  /**
   * The longest time that an agent may be without a connection to that face before its tools count as lost, in milliseconds; default 15 s.
   */
  toolsLostMs?: number;
  onEvent: (event: RunEvent) => void;
}

/** Lets a supervisor end a run. */
export interface RunControl {
  readonly signal: AbortSignal;
  /** The process that runs now, if one does. */
  process: AgentProcess | undefined;
}

/** Runs one process with its own token until it ends. Returns `undefined` if the run was cancelled before the process started. */
export async function runOnce(
  options: AgentRunOptions,
  restarts: number,
  control: RunControl,
): Promise<ProcessEnd | undefined> {
  // The files come first: if this machine refuses them, no token was made in vain.
  const files = await prepareRunFiles(options.setup, options);
  try {
    return await withToken(files, { ...options, restarts, control });
  } finally {
    await removeFiles(files, options);
  }
}

/** One process of an agent, from its files to its end. */
interface Run extends AgentRunOptions {
  restarts: number;
  control: RunControl;
}

async function withToken(files: RunFiles, run: Run): Promise<ProcessEnd | undefined> {
  const { url, insecure, authorities, agent } = run.setup;
  const token = await run.issueToken(agent);
  let retired = false;
  const retire: ChildToken['retire'] = (end) => {
    retired = true;
    return token.retire(end);
  };
  try {
    await files.writeToken(token.text);
    await using presence = await openPresence({
      url,
      insecure,
      ca: authorities?.pem,
      agent,
      token: token.text,
      renewToken: token.renew,
    });
    if (presence.isShared && run.restarts === 0) run.onEvent(runsAlready(agent));
    if (run.control.signal.aborted) return undefined;
    return await runProcess(files, { ...run, presence, retire });
  } finally {
    if (!retired) await retire(undefined);
  }
}

function runsAlready(agent: string): RunEvent {
  const message =
    `another worker run has started '${agent}' already: both share one inbox, and a message goes to the one that read last. ` +
    'Stop one of them, or run this one under another name with --agent';
  return { event: 'warning', agent, code: 'runs_already', message };
}

/** A run whose process has a token and a connection of its own. */
interface RunWithToken extends Run {
  presence: AgentPresence;
  retire: ChildToken['retire'];
}

async function runProcess({ plan, processStarted }: RunFiles, run: RunWithToken): Promise<ProcessEnd> {
  const { setup, program, stdin, output, graceMs, restarts, control, onEvent } = run;
  const { agent, cwd, env } = setup;
  let onOutput = (): void => {};
  const child = await startAgentProcess({
    program,
    argv: plan.injection.argv,
    cwd,
    env: { ...env, ...plan.variables },
    stdin,
    ...(output && { output: writersFor(output) }),
    onOutput: () => onOutput(),
    graceMs,
  });
  processStarted(child.own);
  control.process = child;
  if (control.signal.aborted) child.stop();
  const { pid } = child.own;
  const command = basename(plan.injection.argv[0] ?? program);
  onEvent({ event: 'started', agent, pid, command, restarts });
  const watch = watchProcess(child, {
    ...run,
    agent,
    command,
    expectsFace: plan.injection.client !== 'other',
  });
  onOutput = watch.onOutput;
  // An agent that is being ended closes its MCP servers first.
  control.signal.addEventListener('abort', watch.stop, { once: true });
  const end = await child.exited;
  control.signal.removeEventListener('abort', watch.stop);
  watch.stop();
  // An agent that was asked to end has not failed, and one with the terminal to itself has told its person.
  if (hasFailed(end) && output && !control.signal.aborted)
    run.presence.failed(failureText(end, child.tail.lastLine(maxLineLength)));
  await run.presence[Symbol.asyncDispose]();
  const [report] = await Promise.all([run.retire(end), child.cleanUp()]);
  control.process = undefined;
  const wrote = hasFailed(end) ? child.tail.text() : '';
  onEvent({ event: 'exited', agent, pid, ...end, ...report, output: wrote });
  return end;
}

function writersFor({ stdout, stderr, prefix }: AgentOutput): NonNullable<AgentProcessOptions['output']> {
  return { stdout: outputWriter(stdout, prefix), stderr: outputWriter(stderr, prefix) };
}

function failureText({ code, signal }: ProcessEnd, lastLine: string): string {
  const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
  return lastLine === '' ? how : `${how}: ${lastLine}`;
}

/** Returns true if a signal ended the process, or it ended with a code other than 0. */
export function hasFailed({ code }: ProcessEnd): boolean {
  return code !== 0;
}

async function removeFiles(files: RunFiles, { setup, onEvent }: AgentRunOptions): Promise<void> {
  const restored = await files.remove();
  const path = files.plan.injection.workspace?.path;
  if (path === undefined || restored === undefined || restored === 'restored') return;
  const code: RunWarning = 'workspace_file_changed';
  const message =
    restored === 'edited'
      ? `${path} was changed while the agent ran: the changes stay, only our entry is out of it`
      : `${path} is no JSON file any more, so our entry 'signalbox' is left in it: take it out by hand`;
  onEvent({ event: 'warning', agent: setup.agent, code, message });
}
