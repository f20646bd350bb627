import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { OutputTail } from './output/output-tail.ts';
import type { OutputWriter } from './output/output-writer.ts';
import { endProcess, type OwnProcess, signalProcess } from './process/process-ending.ts';
import { identityOf } from './process/process-start.ts';
import type { ProcessEnd } from './run-event.ts';

export interface AgentProcessOptions {
  program: string;
  argv: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /**
   * Its standard input: ours, none, a text, after which it ends, or open for a talk. Standard output is for that talk then, and no output
   * for people.
   */
  stdin: 'inherit' | 'ignore' | 'open' | { text: string };
  /**
   * The writers of the agent's output. Without them the process has our terminal and our process group, and its output is not read here.
   */
  output?: { stdout: OutputWriter; stderr: OutputWriter };
  /** Called with each chunk of output that is read here. */
  onOutput: () => void;
  /** The time between TERM and KILL, in milliseconds. */
  graceMs: number;
}

/** A running agent. */
export interface AgentProcess {
  /** The process and its group, as signals reach them. */
  readonly own: OwnProcess;
  /** Its standard input, if it is open. */
  readonly input: Writable | undefined;
  /** The end of its output. */
  readonly tail: OutputTail;
  /** Resolves when the process itself has ended. */
  readonly exited: Promise<ProcessEnd>;
  /** Ends the rest of the process group after the process has exited, and passes on the rest of the output. */
  cleanUp(): Promise<void>;
  /** Sends TERM, and KILL after the grace. */
  stop(): void;
  /** Sends KILL. */
  kill(): void;
}

/** The longest wait for pipes that a process outside of the group holds open, in milliseconds. */
const drainMs = 1000;

/** Starts an agent. Rejects with `SignalboxError` `spawn_failed` if the system refuses. */
export async function startAgentProcess(options: AgentProcessOptions): Promise<AgentProcess> {
  const { program, argv, cwd, env, stdin, output, graceMs } = options;
  const pipe = output ? 'pipe' : 'inherit';
  const child = spawn(program, argv.slice(1), {
    ...(argv[0] !== undefined && { argv0: argv[0] }),
    cwd,
    env,
    detached: output !== undefined,
    stdio: [stdin === 'inherit' || stdin === 'ignore' ? stdin : 'pipe', pipe, pipe],
  });
  if (child.pid === undefined) throw await spawnFailure(argv[0] ?? program, once(child, 'error'));
  // It is no failure if a process ends without having read its input.
  child.stdin?.on('error', () => {});
  if (typeof stdin !== 'string') child.stdin?.end(stdin.text);
  const own: OwnProcess = { ...identityOf(child.pid), group: output !== undefined };
  const tail = new OutputTail();
  const exited = once(child, 'exit').then(([code, signal]): ProcessEnd => ({ code, signal }));
  const passedOn = output
    ? Promise.all([
        passOn(child.stdout!, output.stdout, stdin === 'open' ? undefined : tail, options.onOutput),
        passOn(child.stderr!, output.stderr, tail, options.onOutput),
      ])
    : Promise.resolve();
  return {
    own,
    input: child.stdin ?? undefined,
    tail,
    exited,
    async cleanUp() {
      if (own.group) await endProcess(own, graceMs);
      const timer = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, drainMs);
      await passedOn;
      clearTimeout(timer);
    },
    stop: () => void endProcess(own, graceMs),
    kill: () => void signalProcess(own, 'SIGKILL'),
  };
}

async function passOn(
  stream: Readable,
  writer: OutputWriter,
  tail: OutputTail | undefined,
  onOutput: () => void,
): Promise<void> {
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      tail?.add(chunk);
      if (tail) onOutput();
      await writer.write(chunk);
    }
  } catch {
    // The pipe is cut off: a process outside of the group still has its other end.
  }
  await writer.end();
}

async function spawnFailure(name: string, failed: Promise<unknown[]>): Promise<SignalboxError> {
  const [cause] = await failed;
  return new SignalboxError('spawn_failed', `'${basename(name)}' could not be started: ${messageOf(cause)}`, {
    cause,
  });
}
