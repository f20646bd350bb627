import { readFileSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setInterval as every } from 'node:timers/promises';
import { Client, ProtocolError } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { SignalboxError } from '@signalbox/protocol';
import { counterServer, lastingPort, readCounter, tempDir } from '@signalbox/testing';
import { cleanEnv, signalboxArgv, startDaemon } from '../support/cli/command-line.ts';
import { steppedClock } from '../support/clocks/stepped-clock.ts';
import { newId } from './new-id.ts';
import { seededRandom } from './plan.ts';
import { processFacts } from './process-facts.ts';
import type { SoakSample } from './soak-verdict.ts';

export interface UpSoakOptions {
  seconds: number;
  /** The time between two kills of a child of `up`, and between two steps of the wall clock. */
  restartSeconds: number;
  sampleSeconds: number;
  /** Calls per second, and as many notes. */
  rate: number;
  seed: number;
  onSample: (sample: SoakSample) => void;
}

export interface UpSoakReport {
  samples: SoakSample[];
  expectedProcesses: number;
  /** The messages and calls that were lost or done twice. */
  wrong: string[];
  /** The things that were done, in words. */
  done: string;
}

const minute = 60_000;
const hour = 60 * minute;
/** The differences between the wall clock of `up` and its children and the real time, one after the other. */
const offsets = [2 * hour, -30 * minute, 0, 24 * hour, 10_000, -2 * hour, 0] as const;
/** The deadline of a call, and the longer time for which its client waits. */
const deadlineMs = 15_000;
const patienceMs = 60_000;
const tickMs = 200;
const settleMs = 90_000;

/**
 * Puts steady load on a real `signalbox up`, kills one of its children or an MCP server now and then, and steps the wall clock of all of them
 * from outside: a preloaded module shifts `Date.now()` of each process by a file's number. Clients keep the real time. Calls come from an MCP
 * client through a shim, and go directly to the orchestrator while there is a lane.
 */
export async function runUpSoak(options: UpSoakOptions): Promise<UpSoakReport> {
  const random = seededRandom(options.seed);
  await using directory = await tempDir();
  const { path: cwd } = directory;
  const counterFile = join(cwd, 'counter.jsonl');
  const config = {
    broker: { listen: `127.0.0.1:${await lastingPort()}`, data: './state' },
    mcpServers: { counter: counterServer(counterFile) },
    roles: { worker: { tools: ['*'] } },
    schedules: { pulse: { every: '1m', to: 'rosa', text: 'a minute has passed' } },
  };
  await writeFile(join(cwd, 'signalbox.yaml'), JSON.stringify(config));
  const clock = steppedClock(join(cwd, 'clock'));
  await using up = await startDaemon(['up'], { cwd, env: clock.env });
  const { broker } = up.ready as { broker: { url: string } };
  const { url } = broker;
  const operatorToken = (await readFile(join(cwd, 'state', 'operator.token'), 'utf8')).split('\n', 1)[0]!;
  await using operator = await connectBroker({ url, token: operatorToken, agent: 'operator' });
  const { token } = await issueToken(operator, { agent: 'rosa', role: 'worker', ttlMs: null });
  await using rosa = await connectBroker({ url, token, agent: 'rosa' });
  const tokenFile = join(cwd, 'rosa.token');
  await writeFile(tokenFile, token, { mode: 0o600 });
  const agent = new Client({ name: 'agent', version: '1.0.0' });
  const face = { SIGNALBOX_URL: url, SIGNALBOX_FACE: join(cwd, 'state', 'face.sock') };
  await agent.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: signalboxArgv(['worker', 'mcp', '--timeout', `${deadlineMs}ms`]),
      env: cleanEnv({ ...face, SIGNALBOX_TOKEN_FILE: tokenFile }),
      stderr: 'ignore',
    }),
  );
  await using _ended = { [Symbol.asyncDispose]: () => agent.close() };
  const load = startLoad(rosa, agent);

  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1000;
  const facts = () => ({
    ...processFacts(process.pid, counterFile),
    databaseMiB: fileMiB(join(cwd, 'state', 'messages.db')),
    journalMiB: fileMiB(join(cwd, 'state', 'journal.db')),
  });
  const samples: SoakSample[] = [];
  let restarts = 0;
  let steps = 0;
  const take = (): void => {
    const sample = { seconds: elapsed(), done: load.done(), restarts, ...facts() };
    samples.push(sample);
    options.onSample(sample);
  };
  const expectedProcesses = facts().processes;
  const due = {
    kill: options.restartSeconds,
    step: options.restartSeconds / 2,
    sample: options.sampleSeconds,
  };
  for await (const _ of every(tickMs)) {
    if (elapsed() >= options.seconds) break;
    load.add(Math.floor((options.rate * tickMs) / 1000 + random()));
    if (elapsed() >= due.step) {
      due.step += options.restartSeconds;
      clock.set(offsets[steps++ % offsets.length]!);
    }
    if (elapsed() >= due.kill) {
      due.kill += options.restartSeconds;
      const children = childrenOf(up.pid);
      children.push(...children.flatMap(childrenOf));
      const victim = children[Math.floor(random() * children.length)];
      if (victim !== undefined) {
        process.kill(victim, 'SIGKILL');
        restarts++;
      }
    }
    if (elapsed() >= due.sample) {
      due.sample += options.sampleSeconds;
      take();
    }
  }
  const until = performance.now() + settleMs;
  for await (const _ of every(tickMs)) {
    const isOver = load.open() === 0 && facts().processes === expectedProcesses;
    if (isOver || performance.now() > until) break;
  }
  take();
  const wrong = load.problems(readCounter(counterFile).filter(({ at }) => at === 'start'));
  const done = `${load.summary()}; ${load.pulses()} runs of a schedule came; ${restarts} kills, ${steps} steps of the wall clock`;
  return { samples, expectedProcesses, wrong, done };
}

/** The end of a call: `ok` or the code of its error. */
interface CallEnd {
  code: string;
  mayHaveRun: boolean;
}

/** Sends notes from an agent to itself, and calls of a tool that is not safe to repeat. */
function startLoad(rosa: BrokerClient, agent: Client) {
  const receipts = new Set<string>();
  const received = new Map<string, number>();
  const calls = new Map<string, CallEnd | undefined>();
  let sending = 0;
  void (async () => {
    const { messages } = await rosa.subscribe();
    for await (const { id, seq } of messages) {
      received.set(id, (received.get(id) ?? 0) + 1);
      await rosa.ack([seq!]).catch(() => {});
    }
  })();
  const call = async (): Promise<void> => {
    const label = newId();
    calls.set(label, undefined);
    const request = { name: 'mcp_counter__slow', arguments: { ms: 10, label } };
    const called = await agent.callTool(request, { timeout: patienceMs }).catch((thrown) => {
      // While processes are dead, an agent may have too many calls under way, or no tools.
      if (thrown instanceof ProtocolError) return thrown;
      throw thrown;
    });
    if (called instanceof ProtocolError) {
      calls.set(label, { code: `JSON-RPC error ${called.code}`, mayHaveRun: false });
      return;
    }
    const { isError, structuredContent } = called;
    const { error } = (structuredContent ?? {}) as { error?: { code: string; may_have_run: boolean } };
    if (!isError) calls.set(label, { code: 'ok', mayHaveRun: true });
    else calls.set(label, { code: error?.code ?? 'no code', mayHaveRun: error?.may_have_run !== false });
  };
  const note = async (): Promise<void> => {
    const id = newId();
    sending++;
    try {
      await rosa.deliver({ to: 'rosa', kind: 'note', id, body: 'x'.repeat(300) });
      receipts.add(id);
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
    } finally {
      sending--;
    }
  };
  const missing = (): string[] => [...receipts].filter((id) => !received.has(id));
  const openCalls = (): number => [...calls.values()].filter((end) => end === undefined).length;
  return {
    add(count: number): void {
      for (let n = 0; n < count; n++) {
        void call();
        void note();
      }
    },
    /** Settled messages: a note is one, and a call is a request and its reply. */
    done: () => 2 * (calls.size - openCalls()) + received.size,
    open: () => openCalls() + sending + missing().length,
    pulses: () => [...received.keys()].filter((id) => id.startsWith('pulse@')).length,
    summary(): string {
      const ends = Map.groupBy(calls.values(), (end) => end?.code ?? 'open');
      const texts = [...ends].map(([end, all]) => `${end} ${all.length}`);
      return `${calls.size} calls (${texts.join(', ')}), ${receipts.size} notes with a receipt`;
    },
    problems(started: readonly { args: Record<string, unknown> }[]): string[] {
      const starts = Map.groupBy(started, ({ args }) => String(args.label));
      const twice = [...starts.values()].filter((all) => all.length > 1).length;
      const untrue = [...calls].filter(([label, end]) => end?.code === 'ok' && !starts.has(label)).length;
      const denied = [...calls].filter(
        ([label, end]) => end?.mayHaveRun === false && starts.has(label),
      ).length;
      return [
        ...(missing().length === 0 ? [] : [`${missing().length} notes with a receipt did not come`]),
        ...(openCalls() === 0 ? [] : [`${openCalls()} calls have no end`]),
        ...(twice === 0 ? [] : [`${twice} calls started twice`]),
        ...(untrue === 0 ? [] : [`${untrue} calls were answered and never started`]),
        ...(denied === 0 ? [] : [`${denied} calls were said not to have run, and ran`]),
      ];
    },
  };
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

function fileMiB(file: string): number {
  const size = (name: string): number => statSync(name, { throwIfNoEntry: false })?.size ?? 0;
  return (size(file) + size(`${file}-wal`)) / 1024 / 1024;
}
