import { constants } from 'node:os';
import type { BrokerClient } from '@signalbox/client';
import { roleWarning } from '@signalbox/daemon/config/internal';
import { workspaceRecordsDirectory } from '@signalbox/daemon/data-directory';
import { isJwt, issuerOfToken, SignalboxError } from '@signalbox/protocol';
import {
  type AgentSetup,
  defaultRestartPolicy,
  findProgram,
  outputSink,
  type ProcessEnd,
  planAgent,
  processTokens,
  type RunWarning,
  refuseUnwakeable,
  runRoots,
  type SupervisedAgent,
  sameToken,
  startCleanupProcess,
  superviseAgent,
} from '@signalbox/worker/internal';
import { namedToken } from '../../connection/connection.ts';
import { requireKnownAgent } from '../../messages/why-waiting.ts';
import { startExitDeadline } from '../../process/exit-deadline.ts';
import { warnAsProcessOne } from '../../process/process-one.ts';
import { exitCodes } from '../../terminal/exit-codes.ts';
import { printNotes } from '../../terminal/output.ts';
import { listedRoles } from '../../token/listed-roles.ts';
import { printPlans } from './dry-run.ts';
import { exposedWorkspace } from './exposed-workspace.ts';
import type { WorkerRunFlags } from './flags.ts';
import { type RunIdentity, runIdentity } from './identity.ts';
import { openIssuer, tokenOptions } from './issuer.ts';
import { faceLimitsOf, ownFace } from './own-face.ts';
import { reportRun } from './report.ts';
import { runSetups } from './setups.ts';
import { stopOnSignals } from './signals.ts';
import { workingDirectory } from './working-directory.ts';

/** Runs agents to their end and returns the highest of their exit codes. Wrong usage is refused before a token is issued. */
export async function runWorkers(argv: readonly string[], flags: WorkerRunFlags): Promise<number> {
  const cwd = workingDirectory(flags.cwd);
  const program = findProgram(argv[0] ?? '', cwd, process.env.PATH);
  if (flags.wake) checkWake(argv, flags);
  const identity = await runIdentity(flags, process.env);
  const setups = runSetups(argv, cwd, identity, flags);
  if (flags.dryRun) {
    printPlans(setups, { json: flags.json === true });
    return exitCodes.ok;
  }

  warnAsProcessOne((text) => printNotes(`signalbox: ${text}`));
  return await superviseAll(setups, program, identity, flags);
}

/** Refuses `--wake` where nothing could wake the agent. */
function checkWake(argv: readonly string[], { inject, hooks }: WorkerRunFlags): void {
  refuseUnwakeable(argv);
  const other = inject ? (hooks ? undefined : '--no-hooks') : '--no-inject';
  if (other === undefined) return;
  throw new SignalboxError('usage', `--wake: the agent is woken by a hook, and ${other} leaves that out`, {
    details: { hint: 'leave one of them out' },
  });
}

/** Supervises agents until all have ended, and returns the highest of their exit codes. */
async function superviseAll(
  setups: readonly AgentSetup[],
  program: string,
  identity: RunIdentity,
  flags: WorkerRunFlags,
): Promise<number> {
  const isAlone = setups.length === 1;
  const terminal = process.stdin.isTTY && isAlone;
  const onEvent = reportRun({ json: flags.json === true, terminal });
  await using issuer = await openIssuer(identity);
  await checkParent(issuer, identity, flags);
  const issueToken = issuer
    ? processTokens(issuer, tokenOptions(flags, onEvent))
    : sameToken(() => namedToken(flags, process.env)?.token ?? identity.connection.token);
  await using cleanup = startCleanupProcess(flags.stopTimeout);
  const [{ agent, cwd }] = setups as [AgentSetup];
  const message = await exposedWorkspace(cwd, flags, { kind: identity.kind, env: process.env });
  if (message !== undefined) onEvent({ event: 'warning', agent, code: 'workspace_exposed', message });
  const roles = flags.role === undefined ? undefined : await listedRoles(flags, identity.connection.url);
  const warning = flags.role !== undefined && roles ? roleWarning(flags.role, roles) : undefined;
  if (warning !== undefined) onEvent({ event: 'warning', agent, code: 'unlisted_role', message: warning });
  printSetupNotes(setups[0]!, identity, flags);
  const warn = (code: RunWarning, message: string): void =>
    onEvent({ event: 'warning', agent, code, message });
  const limits = await faceLimitsOf(flags, identity, warn);
  await using face = await ownFace(identity, cleanup, limits, warn);
  if (flags.wake && !face) {
    throw new SignalboxError(
      'usage',
      '--wake: the agent is woken by the face of this command, and it has none',
      {
        details: { hint: 'the warning before this says why' },
      },
    );
  }
  const [stdout, stderr] = [outputSink(process.stdout), outputSink(process.stderr)];
  const agents = setups.map((setup) =>
    superviseAgent({
      setup: { ...setup, faceSocket: face?.socket },
      face,
      program,
      stdin: isAlone ? 'inherit' : 'ignore',
      ...(!terminal && { output: { stdout, stderr, ...(!isAlone && { prefix: `[${setup.agent}] ` }) } }),
      roots: runRoots(process.env),
      records: workspaceRecordsDirectory(process.env),
      issueToken,
      cleanup,
      graceMs: flags.stopTimeout,
      readyTimeoutMs: flags.readyTimeout,
      onEvent,
      ...(flags.restart === 'on-failure' && {
        restart: { ...defaultRestartPolicy, firstDelayMs: flags.restartDelay },
      }),
    }),
  );
  try {
    return await exitCodeOfAll(agents, { terminal, graceMs: flags.stopTimeout });
  } finally {
    startExitDeadline();
  }
}

/** Refuses a parent that nobody knows, or where no token is made whose end it could be told of. */
async function checkParent(
  client: BrokerClient | undefined,
  { connection }: RunIdentity,
  flags: WorkerRunFlags,
): Promise<void> {
  if (flags.parent === undefined) return;
  if (client) return await requireKnownAgent({ client, connection }, flags.parent, flags);
  throw new SignalboxError(
    'usage',
    `--parent is for tokens that are made, and '${connection.agent}' has one`,
    { details: { hint: "leave --parent out, or use a minting token or the operator's (--config, --data)" } },
  );
}

/** Waits for all agents. One that cannot be run at all ends the others: the command line asked for something wrong. */
async function exitCodeOfAll(
  agents: readonly SupervisedAgent[],
  stopping: { terminal: boolean; graceMs: number },
): Promise<number> {
  const all = {
    stop: () => {
      for (const agent of agents) agent.stop();
    },
    kill: () => {
      for (const agent of agents) agent.kill();
    },
  };
  using signals = stopOnSignals(all, stopping);
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

/** Returns the exit code as a shell does: 128 and the signal's number for a process that a signal ended. */
function codeOf(end: ProcessEnd | undefined): number {
  if (end === undefined) return exitCodes.interrupted;
  return end.code ?? 128 + (end.signal === null ? 0 : constants.signals[end.signal]);
}

function printSetupNotes(
  setup: AgentSetup,
  { kind, connection }: RunIdentity,
  { json }: WorkerRunFlags,
): void {
  if (json) return;
  const { notes } = planAgent(setup, '/').injection;
  const own = kind === 'plain' ? [ownTokenNote(setup, connection.token)] : [];
  for (const note of [...notes, ...own]) printNotes(`signalbox: ${note}`);
}

function ownTokenNote({ agent, tokenFile }: AgentSetup, token: string): string {
  if (!isJwt(token)) return `${agent}'s own token is used as it is: it stays valid when the agent ends`;
  const issuer = issuerOfToken(token) ?? 'an identity provider';
  const how = `${agent}'s own token of ${issuer} is used, because it may issue no others`;
  return tokenFile === undefined
    ? `${how}: the agent ends with it; pass it in a file with --token-file, and it goes on with the one that is there then`
    : `${how}: the agent reads it from ${tokenFile}, and goes on with the one that is there when it ends`;
}
