import { constants } from 'node:os';
import {
  type AgentSetup,
  defaultRestartPolicy,
  outputSink,
  type ProcessEnd,
  planAgent,
  runRoots,
  type SupervisedAgent,
  startCleanupProcess,
  superviseAgent,
} from '@signalbox/worker';
import { exitCodes } from '../terminal/exit-codes.ts';
import { printPlans } from './run-dry.ts';
import type { WorkerRunFlags } from './run-flags.ts';
import { type RunIdentity, runIdentity } from './run-identity.ts';
import { findProgram } from './run-program.ts';
import { reportRun } from './run-report.ts';
import { runSetups } from './run-setups.ts';
import { stopOnSignals } from './run-signals.ts';
import { openRunTokens } from './run-tokens.ts';

/** Runs agents to their end and gives the exit code: the highest of theirs. Everything that can be refused is, before a token is made. */
export async function runWorkers(argv: readonly string[], flags: WorkerRunFlags): Promise<number> {
  const { agent, ...connectionFlags } = flags;
  const cwd = process.cwd();
  const program = findProgram(argv[0] ?? '', cwd, process.env.PATH);
  const identity = await runIdentity(connectionFlags, process.env);
  const setups = runSetups(argv, cwd, identity, flags);
  if (flags.dryRun) {
    printPlans(setups, flags.json === true);
    return exitCodes.ok;
  }

  const terminal = process.stdin.isTTY && setups.length === 1;
  const onEvent = reportRun({ json: flags.json === true, terminal });
  const parent = flags.parent ?? (process.env.SIGNALBOX_AGENT || undefined);
  await using tokens = await openRunTokens(identity, {
    ...(flags.role !== undefined && { role: flags.role }),
    ...(flags.ttl !== undefined && { ttlMs: flags.ttl }),
    ...(parent !== undefined && { parent }),
    onEvent,
  });
  await using cleanup = startCleanupProcess(flags.stopTimeout);
  sayFirst(setups[0]!, identity, flags);
  const [stdout, stderr] = [outputSink(process.stdout), outputSink(process.stderr)];
  const agents = setups.map((setup) =>
    superviseAgent({
      setup,
      program,
      stdin: setups.length === 1 ? 'inherit' : 'ignore',
      ...(!terminal && {
        output: { stdout, stderr, ...(setups.length > 1 && { prefix: `[${setup.agent}] ` }) },
      }),
      roots: runRoots(process.env),
      issueToken: tokens.issue,
      cleanup,
      graceMs: flags.stopTimeout,
      readyTimeoutMs: flags.readyTimeout,
      onEvent,
      ...(flags.restart === 'on-failure' && {
        restart: { ...defaultRestartPolicy, firstDelayMs: flags.restartDelay },
      }),
    }),
  );
  return await exitCodeOfAll(agents, terminal);
}

/** Waits for all. One that can't be run at all ends the others: it is a mistake in what was asked for. */
async function exitCodeOfAll(agents: readonly SupervisedAgent[], terminal: boolean): Promise<number> {
  const all = {
    stop: () => {
      for (const agent of agents) agent.stop();
    },
    kill: () => {
      for (const agent of agents) agent.kill();
    },
  };
  using signals = stopOnSignals(all, terminal);
  const ends = agents.map(({ ended }) => ended);
  await Promise.all(ends).catch(() => all.stop());
  const settled = await Promise.allSettled(ends);
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed && !signals.asked) throw failed.reason;
  const codes = settled.map((result) =>
    result.status === 'fulfilled' ? codeOf(result.value) : exitCodes.failed,
  );
  return Math.max(...codes);
}

/** As a shell has it: 128 and the signal's number for what a signal ended. */
function codeOf(end: ProcessEnd | undefined): number {
  if (end === undefined) return exitCodes.interrupted;
  return end.code ?? 128 + (end.signal === null ? 0 : constants.signals[end.signal]);
}

function sayFirst(setup: AgentSetup, { kind }: RunIdentity, { json }: WorkerRunFlags): void {
  if (json) return;
  const { notes } = planAgent(setup, '/').injection;
  const own =
    kind === 'plain'
      ? [`${setup.agent}'s own token is used as it is: it stays valid when the agent ends`]
      : [];
  for (const note of [...notes, ...own]) process.stderr.write(`signalbox: ${note}\n`);
}
