import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { queryOrchestrator, readClock, readStats } from '@signalbox/client/operator';
import { hostProblems } from '@signalbox/client/operator/internal';
import { runningBroker } from '@signalbox/daemon/data-directory';
import { SignalboxError } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { agentPrograms } from '@signalbox/worker/internal';
import type { ConnectionFlags } from '../connection/connection.ts';
import { clientFiles } from '../init/client-files.ts';
import { ownNodeRange } from '../process/version.ts';
import { count } from '../terminal/output.ts';
import { a2aFindings } from './checks/a2a.ts';
import { agentFindings, findAgents } from './checks/agents.ts';
import { authFinding } from './checks/auth.ts';
import { brokerFinding, damageFindings, linkFindings, type RoundTrip, roundTrip } from './checks/broker.ts';
import { type ClockFacts, clockFindings } from './checks/clock.ts';
import { configurationFindings, importFindings } from './checks/configuration.ts';
import { dataDirectoryFindings, existingParent, isWritable } from './checks/data-directory.ts';
import { databaseFindings, databasesOf, sizeFindings } from './checks/database.ts';
import { descriptorFinding, openFilesIn } from './checks/descriptors.ts';
import { diskFindings, isNetworkFileSystem } from './checks/disk.ts';
import { exposureFindings } from './checks/exposure.ts';
import { keptResultsFindings } from './checks/kept-results.ts';
import { nodeFinding } from './checks/node-version.ts';
import { portFinding } from './checks/port.ts';
import { postgresFinding } from './checks/postgres.ts';
import { hostedServerFinding, startServers } from './checks/servers.ts';
import { tlsFinding } from './checks/tls.ts';
import { tokenFindings } from './checks/tokens.ts';
import { ChecksRun } from './checks-run.ts';
import { type CheckName, type Finding, ok, warning } from './finding.ts';
import type { Machine } from './machine.ts';
import { type ReachedBroker, reachBroker } from './reached-broker.ts';
import { dataDirOf, type ReadSetup, readSetup, tokensOf } from './setup.ts';

/** The options of an examination. */
export interface ExaminationFlags extends ConnectionFlags {
  /** Agent id of the orchestrator; by default the one of the configuration. */
  orchestrator?: string;
  /** False: MCP servers are neither started nor asked about. */
  servers?: boolean;
}

/** The place that is examined. */
interface Place {
  flags: ExaminationFlags;
  machine: Machine;
  setup: ReadSetup;
  dataDir: string;
  checks: ChecksRun;
  onWait: (text: string) => void;
}

/** The longest time in which all MCP servers start, in milliseconds. */
const serversLimitMs = 60_000;
/** The time in which the servers that were started have to end, in milliseconds. */
const serversEndMs = 15_000;
/** The time to wait for the orchestrator, in milliseconds. */
const orchestratorTimeoutMs = 5000;

/**
 * Runs one check after the other and calls `onFinding` with each result as it comes. Changes nothing of what it examines, and never
 * rejects because of it. `onWait` is called before it waits long. Aborting the signal
 * ends the examination.
 */
export async function examine(
  flags: ExaminationFlags,
  machine: Machine,
  onFinding: (check: CheckName, finding: Finding) => void,
  {
    signal = new AbortController().signal,
    onWait = () => {},
  }: { signal?: AbortSignal; onWait?: (text: string) => void } = {},
): Promise<void> {
  const checks = new ChecksRun(onFinding, signal);
  const began = machine.now() - machine.steadyNow();
  await checks.run('node', () => [nodeFinding(machine.nodeVersion, ownNodeRange())]);
  const setup = await readSetup(flags, machine);
  const place: Place = { flags, machine, setup, dataDir: dataDirOf(flags, setup, machine), checks, onWait };
  await examineFiles(place);
  await using resources = new AsyncDisposableStack();
  let reached: ReachedBroker = { state: 'absent' };
  let trip: RoundTrip | undefined;
  await checks.run('broker', async () => {
    reached = await reachBroker(flags, place.dataDir, machine);
    if (reached.state === 'connected') resources.use(reached.client);
    const { client } = reached.state === 'connected' ? reached : {};
    return [
      await brokerFinding(reached, async () => {
        trip = client && (await roundTrip(client, machine.now));
        return trip;
      }),
    ];
  });
  const steppedMs = machine.now() - machine.steadyNow() - began;
  await examineRunning(place, reached, { steppedMs, ...(trip && { brokerAheadMs: trip.brokerAheadMs }) });
  await examineA2a(place, reached);
  await checks.run('agents', async () => {
    return agentFindings(await findAgents(agentPrograms, machine), agentPrograms);
  });
}

/** Examines what lies on the disk of this machine. */
async function examineFiles({ machine, setup, dataDir, flags, checks }: Place): Promise<void> {
  const { env, cwd, home, platform, uid } = machine;
  await checks.run('configuration', () => configurationFindings(setup, { env, insecure: flags.insecure }));
  await checks.run('imports', () => importFindings(setup, clientFiles({ cwd, home })));
  // The default directory may be that of another broker.
  if (setup.isPlaceUnknown && flags.data === undefined) return;
  // Without an answer about it nothing is opened there: a disk of another machine may never answer.
  let mayRead = false;
  await checks.run('disk', async () => {
    const facts = await machine.fileSystemOf(existingParent(dataDir));
    mayRead = !isNetworkFileSystem(facts, platform);
    const sizes = mayRead ? sizeFindings(databasesOf(dataDir)) : [];
    return [...diskFindings(facts, { directory: dataDir, platform }), ...sizes];
  });
  await checks.run('data', () => dataDirectoryFindings(dataDir, uid));
  const tokens = tokensOf(flags, setup, machine, dataDir);
  const filesOf = (found: typeof tokens): string[] => found.flatMap(({ file }) => file ?? []);
  const tokenFiles = filesOf(tokens.filter(({ isNamed }) => isNamed));
  const otherTokens = filesOf(tokens.filter(({ isUsed }) => !isUsed));
  await checks.run('exposure', () => exposureFindings(setup, { dataDir, tokenFiles, otherTokens }));
  const { tls } = setup.config.broker;
  if (tls) await checks.run('tls', async () => [await tlsFinding(tls, machine.now())]);
  const { auth } = setup.config;
  if (auth) await checks.run('auth', async () => [await authFinding(auth)]);
  const running = runningBroker(dataDir);
  const { limits, listen } = setup.config.broker;
  await checks.run('descriptors', async () => {
    const openFiles = running?.pid === undefined ? undefined : await openFilesOfProcess(running.pid);
    return [descriptorFinding(openFiles ?? machine.openFiles(), limits)];
  });
  if (running) {
    await checks.run('port', () => [ok(`the broker listens at ${running.url}`)]);
    return;
  }
  await checks.run('port', async () => [
    setup.problem === undefined
      ? await portFinding(listen)
      : ok('not tried: the configuration has to be mended first'),
  ]);
  await checks.run('database', async () => {
    const { store } = setup.config.broker;
    if (store) return [await postgresFinding(store)];
    if (mayRead && isWritable(existingParent(dataDir))) return await databaseFindings(dataDir);
    return [ok('not read: see what is wrong with the data directory')];
  });
}

/** Examines the clocks, the tokens and the MCP servers, with the help of a broker that runs. */
async function examineRunning(place: Place, reached: ReachedBroker, clock: ClockFacts): Promise<void> {
  const { flags, machine, setup, dataDir, checks } = place;
  const { env, now } = machine;
  const client = reached.state === 'connected' ? reached.client : undefined;
  if (client) {
    await checks.run('database', async () => {
      try {
        const { started_at, brokers } = await readStats(client);
        return [...(await damageFindings(client, started_at)), ...linkFindings(brokers)];
      } catch (error) {
        return [onlyOperators(error)];
      }
    });
  }
  await checks.run('clock', async () => {
    if (client) return clockFindings({ ...clock, hold: await readClock(client).catch(() => undefined) });
    const changes = databasesOf(dataDir).map((file) => statSync(file).mtimeMs - now());
    return clockFindings({ ...clock, ...(changes.length > 0 && { dataAheadMs: Math.max(...changes) }) });
  });
  await checks.run('tokens', () => {
    const connection = 'connection' in reached ? reached.connection : undefined;
    return tokenFindings(tokensOf(flags, setup, machine, dataDir), connection, { env, now });
  });
  await checks.run('port', () => orchestratorPortFindings(place, reached));
  if (flags.servers === false) return;
  await checks.run('servers', (tell, signal) => serverFindings(place, reached, tell, signal), {
    timeMs: serversLimitMs,
    graceMs: serversEndMs,
  });
}

/** Judges the address at which an orchestrator answers probes, if it has one. That of a connected orchestrator is its own. */
async function orchestratorPortFindings({ flags, setup }: Place, reached: ReachedBroker): Promise<Finding[]> {
  const { listen } = setup.config.orchestrator;
  if (!listen || setup.problem !== undefined) return [];
  if (reached.state !== 'connected') return [await portFinding(listen, 'orchestrator.listen')];
  const { client, connection } = reached;
  if (await isConnected(client, flags.orchestrator ?? (await connection.orchestrator()))) return [];
  return [await portFinding(listen, 'orchestrator.listen')];
}

async function isConnected(
  client: Extract<ReachedBroker, { state: 'connected' }>['client'],
  orchestrator: string,
): Promise<boolean> {
  return (await client.listConnected()).some(({ address }) => address === orchestrator);
}

/** Examines the bridge to clients of A2A, if there is to be one. */
async function examineA2a({ machine, setup, dataDir, checks }: Place, reached: ReachedBroker): Promise<void> {
  const { a2a } = setup.config;
  if (!a2a) return;
  const isBrokerThere = reached.state !== 'absent';
  await checks.run('a2a', () => a2aFindings(a2a, { isBrokerThere, now: machine.now(), dataDir }));
}

/** Asks the orchestrator about its servers, or starts them here if none runs. */
async function serverFindings(
  { flags, setup, onWait }: Place,
  reached: ReachedBroker,
  tell: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { config, problem } = setup;
  if (reached.state === 'connected') {
    const { client, connection } = reached;
    const orchestrator = flags.orchestrator ?? (await connection.orchestrator());
    if (await isConnected(client, orchestrator)) {
      const timeoutMs = orchestratorTimeoutMs;
      try {
        const op = { op: 'servers' } as const;
        const {
          servers,
          kept_results,
          hosts = [],
          warnings = [],
        } = await queryOrchestrator(client, orchestrator, op, { timeoutMs });
        const found = servers.map(hostedServerFinding);
        return [
          ...(found.length > 0 ? found : [ok('the orchestrator has no MCP servers')]),
          ...keptResultsFindings(kept_results),
          ...hosts
            .flatMap(({ host, refused = [] }) => hostProblems({ host, servers: [], refused }))
            .map((text) => warning(text, 'name there what agents may use, or end that orchestrator')),
          ...warnings.map((text) => warning(text, 'signalbox tools matrix shows what roles may call')),
        ];
      } catch (error) {
        return [onlyOperators(error)];
      }
    }
    tell(
      warning(
        `no orchestrator named '${orchestrator}' is connected, so nobody can call tools`,
        'signalbox up starts one, --orchestrator names another',
      ),
    );
  } else if (reached.state !== 'absent') {
    return [ok('not started here, because a broker may run that could not be asked')];
  }
  if (problem !== undefined) return [ok('not started: the configuration has to be mended first')];
  const started = Object.values(config.mcpServers).filter(({ disabled }) => !disabled);
  if (started.length === 0) return [ok('none are configured')];
  onWait(`starting ${count(started.length, 'MCP server')}, up to ${formatDuration(serversLimitMs)} …`);
  await startServers(config, tell, signal);
  return [];
}

/** Makes a finding of a refusal to tell an agent what is for operators. Throws any other error again. */
function onlyOperators(error: unknown): Finding {
  const isRefusal =
    error instanceof SignalboxError && ['forbidden', 'permission_denied'].includes(error.code);
  if (!isRefusal) throw error;
  return ok("not asked: this token is an agent's, and only an operator is told");
}

/** Reads how many files and sockets another process may open. `undefined` where the system does not tell. */
async function openFilesOfProcess(pid: number): Promise<number | undefined> {
  return openFilesIn(await readFile(`/proc/${pid}/limits`, 'utf8').catch(() => ''));
}
