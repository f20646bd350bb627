import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { roleWarning } from '@signalbox/daemon/config/internal';
import { servedAgentsDirectory, workspaceRecordsDirectory } from '@signalbox/daemon/data-directory';
import { SignalboxError } from '@signalbox/protocol';
import {
  type AgentSetup,
  acpAgentFor,
  acpTurns,
  checkTurnProgram,
  findProgram,
  KeptProcesses,
  NotedTasks,
  openThreadSessions,
  outputKeeper,
  outsideTurns,
  planTurn,
  processTokens,
  runRoots,
  runTurn,
  type ServeAgentOptions,
  type ServedAgent,
  type ServeEvent,
  sameToken,
  serveAgent,
  startCleanupProcess,
  type ThreadSessions,
  type TurnProgram,
  turnProgramOf,
} from '@signalbox/worker/internal';
import { configBeside } from '../../config/config-beside.ts';
import { namedToken } from '../../connection/connection.ts';
import { startExitDeadline } from '../../process/exit-deadline.ts';
import { faultFromEnvironment } from '../../process/fault-environment.ts';
import { warnAsProcessOne } from '../../process/process-one.ts';
import { ownTracing } from '../../process/tracing.ts';
import { ownVersion } from '../../process/version.ts';
import { exitCodes } from '../../terminal/exit-codes.ts';
import { printNotes } from '../../terminal/output.ts';
import { listedRoles } from '../../token/listed-roles.ts';
import { printPlans } from '../run/dry-run.ts';
import { exposedWorkspace } from '../run/exposed-workspace.ts';
import { type RunIdentity, runIdentity } from '../run/identity.ts';
import { openIssuer } from '../run/issuer.ts';
import { faceLimitsOf, ownFace } from '../run/own-face.ts';
import { runSetups } from '../run/setups.ts';
import { stopOnSignals } from '../run/signals.ts';
import { workingDirectory } from '../run/working-directory.ts';
import { checkAgent } from './check-agent.ts';
import {
  type OutsideFlags,
  openOutsideAgent,
  outsideAddress,
  refuseOutsideOptions,
} from './outside-agent.ts';
import { reportServe } from './report.ts';

/** The options of `signalbox worker serve`. Times in milliseconds. */
export interface WorkerServeFlags extends Omit<OutsideFlags, 'hooks'> {
  /** The most turns of one agent at a time. */
  concurrency: number;
  session: 'thread' | 'none';
  /** The group whose messages the agents take. */
  group?: string;
  /** The time for which a process is kept for the next turn of its thread, in milliseconds. */
  keep?: number;
  turnTimeout: number;
  noteWait: number;
  takeOver?: boolean;
  retryWait: number;
  stopTimeout: number;
  acp?: boolean;
  /** Starts the agent once, and prints what it can do. */
  check?: boolean;
  /** The mode to set in each session of an agent that speaks ACP. */
  mode?: string;
  json?: boolean;
}

/** Refuses options that only a talk by ACP uses. */
function refuseAcpOptions({ mode, check, keep }: WorkerServeFlags): void {
  const option = check
    ? '--check'
    : mode !== undefined
      ? '--mode'
      : keep !== undefined
        ? '--keep'
        : undefined;
  if (option === undefined) return;
  throw new SignalboxError('usage', `${option} is for agents that speak the Agent Client Protocol`, {
    details: { hint: 'leave it out, write the command of such an agent, or add --acp' },
  });
}

/** Refuses to keep processes where a turn has no token or no session of its own. */
function refuseToKeep({ keep, session }: WorkerServeFlags, { kind }: RunIdentity): void {
  if (keep === undefined) return;
  const refusal = (message: string, hint: string) =>
    new SignalboxError('usage', `--keep: ${message}`, { details: { hint } });
  if (session === 'none')
    throw refusal('a kept process goes on with its session', 'leave --session none out');
  if (kind !== 'plain') return;
  throw refusal(
    'each turn of a kept process needs a token of its own, and this token makes none',
    'serve with a minting token, or as the operator (--config, --data)',
  );
}

/** Names what takes the turns, and makes each agent's turns. */
interface Turns extends AsyncDisposable, Pick<ServeAgentOptions, 'command' | 'forgets' | 'takesAlone'> {
  of(setup: AgentSetup): Promise<Pick<ServeAgentOptions, 'run' | 'onServing'>>;
}

/** Serves agents until this process is asked to end. Wrong usage is refused before anything connects or a token is issued. */
export async function serveWorkers(argv: readonly string[], given: WorkerServeFlags): Promise<number> {
  // Mail is what starts a turn, so that no hook has to tell of it.
  const flags = { ...given, hooks: false };
  if (flags.a2a !== undefined) return await serveOutside(argv, { ...flags, a2a: flags.a2a });
  refuseOutsideOptions(argv, flags);
  const cwd = workingDirectory(flags.cwd);
  const program = findProgram(argv[0] ?? '', cwd, process.env.PATH);
  const acp = acpAgentFor(argv, flags);
  if (!acp) refuseAcpOptions(flags);
  const turns = acp ? acpTurns(acp, argv, { ...flags, version: ownVersion() }) : turnProgramOf(argv);
  if (acp && flags.check) return await checkAgent(argv, acp, { cwd, json: flags.json === true });
  const identity = await runIdentity(flags, process.env);
  refuseToKeep(flags, identity);
  const setups = runSetups(
    argv,
    cwd,
    identity,
    flags,
    acp && { server: acp.server, asks: flags.permissions !== 'cli' },
  );
  const { group } = flags;
  const plan = (setup: AgentSetup, runDirectory: string) => planTurn(setup, { turns, group }, runDirectory);
  for (const setup of setups) plan(setup, '/');
  if (flags.dryRun) {
    printPlans(setups, { json: flags.json === true, plan });
    return exitCodes.ok;
  }
  await checkTurnProgram(turns, { program, cwd, env: setups[0]?.env ?? {} });
  return await serveAll(setups, { identity, flags }, (warn) =>
    programTurns(setups, { program, turns, identity, flags, warn }),
  );
}

/** Serves agents of another system, over A2A. */
async function serveOutside(
  argv: readonly string[],
  flags: WorkerServeFlags & { hooks: boolean; a2a: string },
): Promise<number> {
  const address = outsideAddress(argv, flags);
  const identity = await runIdentity(flags, process.env);
  const setups = runSetups([address.card.href], process.cwd(), identity, flags);
  return await serveAll(setups, { identity, flags }, async (warn) => {
    const agent = await openOutsideAgent(address, (message) => warn('peer_away', message));
    const fault = faultFromEnvironment(process.env);
    return {
      command: address.card.host,
      takesAlone: true,
      async of(setup) {
        const { group, turnTimeout: turnTimeoutMs } = flags;
        // Any member of a group may get the message of a member that died.
        const { tasks } = rememberedFiles(group === undefined ? setup : setups[0]!, group);
        const recipient = group ?? setup.agent;
        const notes = await NotedTasks.open(tasks);
        const { run, withdrawUnwanted } = outsideTurns({ ...agent, notes, recipient, turnTimeoutMs, fault });
        // The broker tells nothing of the messages of a group.
        return group === undefined ? { run, onServing: withdrawUnwanted } : { run };
      },
      [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
    };
  });
}

interface Serving {
  identity: RunIdentity;
  flags: WorkerServeFlags & { hooks: boolean };
}

type Warn = (code: Extract<ServeEvent, { event: 'warning' }>['code'], message: string) => void;

/** Makes turns of a program on this machine. */
async function programTurns(
  setups: readonly AgentSetup[],
  { program, turns, identity, flags, warn }: Serving & { program: string; turns: TurnProgram; warn: Warn },
): Promise<Turns> {
  await using opened = new AsyncDisposableStack();
  const cleanup = opened.use(startCleanupProcess(flags.stopTimeout));
  const exposed = await exposedWorkspace(setups[0]!.cwd, flags, { kind: identity.kind, env: process.env });
  if (exposed !== undefined) warn('workspace_exposed', exposed);
  const limits = await faceLimitsOf(flags, identity, warn);
  const face = opened.use(await ownFace(identity, cleanup, limits, warn));
  if (flags.keep !== undefined && !face)
    warn(
      'no_shared_face',
      'no process is kept: only a face in this command can give each turn its own token',
    );
  const options = {
    program,
    turns,
    face,
    orchestrator: identity.orchestrator,
    mostAskingMs: await approvalDeadlineOf(flags, identity),
    tracing: await ownTracing(),
    group: flags.group,
    roots: runRoots(process.env),
    records: workspaceRecordsDirectory(process.env),
    cleanup,
    graceMs: flags.stopTimeout,
    turnTimeoutMs: flags.turnTimeout,
  };
  const resources = opened.move();
  return {
    command: basename(setups[0]!.argv[0] ?? ''),
    forgets: turns.forgets,
    async of(setup) {
      const own = { ...options, setup: { ...setup, faceSocket: face?.socket } };
      return { run: (task, keeping) => runTurn(task, own, keeping) };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function serveAll(
  setups: readonly AgentSetup[],
  { identity, flags }: Serving,
  openTurns: (warn: Warn) => Promise<Turns>,
): Promise<number> {
  warnAsProcessOne((text) => printNotes(`signalbox: ${text}`));
  const onEvent = reportServe({ json: flags.json === true });
  const { agent } = setups[0]!;
  const warn: Warn = (code, message) => onEvent({ event: 'warning', agent, code, message });
  await using issuer = await openIssuer(identity);
  const issueToken = issuer
    ? processTokens(issuer, {
        ...(flags.role !== undefined && { role: flags.role }),
        ...(flags.ttl !== undefined && { ttlMs: flags.ttl }),
        onEvent: (event) => event.event === 'warning' && onEvent(event),
      })
    : sameToken(() => namedToken(flags, process.env)?.token ?? identity.connection.token);
  await warnOfRole({ identity, flags }, warn);
  await using turns = await openTurns(warn);
  const options = {
    command: turns.command,
    forgets: turns.forgets,
    takesAlone: turns.takesAlone === true,
    group: flags.group,
    graceMs: flags.stopTimeout,
    turnTimeoutMs: flags.turnTimeout,
    noteWaitMs: flags.noteWait,
    retryWaitMs: flags.retryWait,
    takesOver: flags.takeOver === true,
    issueToken,
    concurrency: flags.concurrency,
    kept: keptProcesses(flags),
    keepsSessions: flags.session === 'thread',
    tracing: await ownTracing(),
    onEvent,
  } satisfies Partial<ServeAgentOptions>;
  const agents: ServedAgent[] = [];
  const sessionsOf = (setup: AgentSetup): Promise<ThreadSessions> =>
    openThreadSessions(rememberedFiles(setup, flags.group).sessions);
  const ofGroup = flags.group === undefined ? undefined : await sessionsOf(setups[0]!);
  for (const setup of setups) {
    // Any member may take the next message of a thread, and one at a time has it.
    const sessions = ofGroup ?? (await sessionsOf(setup));
    const keepOutput = outputKeeper(rememberedFiles(setup, flags.group).output);
    agents.push(serveAgent({ ...options, setup, ...(await turns.of(setup)), sessions, keepOutput }));
  }
  try {
    return await ended(agents, flags.stopTimeout);
  } finally {
    startExitDeadline();
  }
}

function keptProcesses({ keep: keepMs, group }: WorkerServeFlags): KeptProcesses | undefined {
  return keepMs === undefined ? undefined : new KeptProcesses({ keepMs, group });
}

/** Reads how long an approval waits at most. Where it can't be read, the default holds. */
async function approvalDeadlineOf(
  flags: WorkerServeFlags,
  { connection }: RunIdentity,
): Promise<number | undefined> {
  if (flags.permissions !== 'ask') return undefined;
  try {
    return (await configBeside(flags, connection.url, ['approvals']))?.approvals.deadlineMs;
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    return undefined;
  }
}

/**
 * Names the files of an agent: its sessions, which only the same program in the same directory can resume, its newest output, and the folder
 * of its tasks at another system.
 */
function rememberedFiles(
  { agent, url, cwd, argv, acp }: AgentSetup,
  group: string | undefined,
): { sessions: string; output: string; tasks: string } {
  const scope = createHash('sha256')
    .update(
      JSON.stringify([url, cwd, argv[0], ...(group === undefined ? [] : [group]), ...(acp ? ['acp'] : [])]),
    )
    .digest('hex')
    .slice(0, 12);
  const stem = join(servedAgentsDirectory(process.env), `${agent}-${scope}`);
  return { sessions: `${stem}.json`, output: `${stem}.output`, tasks: `${stem}.tasks` };
}

async function warnOfRole({ identity, flags }: Serving, warn: Warn): Promise<void> {
  const roles = flags.role === undefined ? undefined : await listedRoles(flags, identity.connection.url);
  const unlisted = flags.role !== undefined && roles ? roleWarning(flags.role, roles) : undefined;
  if (unlisted !== undefined) warn('unlisted_role', unlisted);
}

/** Waits for all agents. One that can be served no longer ends the others, so that the user who started this command notices. */
async function ended(agents: readonly ServedAgent[], graceMs: number): Promise<number> {
  const all = {
    stop: () => {
      for (const agent of agents) agent.stop();
    },
    kill: () => {
      for (const agent of agents) agent.kill();
    },
  };
  // After the grace come the time from TERM to KILL and the last words to the broker.
  using signals = stopOnSignals(all, { terminal: false, graceMs: 2 * graceMs });
  const ends = agents.map((agent) => agent.ended);
  await Promise.all(ends).catch(() => all.stop());
  const settled = await Promise.allSettled(ends);
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed && !signals.asked) throw failed.reason;
  return exitCodes.ok;
}
