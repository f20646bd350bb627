import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '@signalbox/daemon/config';
import { formatListenAddress } from '@signalbox/daemon/config/internal';
import type { OrchestratorReport, ServerStart } from '@signalbox/daemon/orchestrator';
import { reportToSupervisor, SupervisedChild, type SupervisedOptions } from '@signalbox/daemon/supervisor';
import { messageOf, parseBrokerAddress, SignalboxError } from '@signalbox/protocol';
import type { Logger } from 'pino';
import type { A2aReady } from '../a2a/serve.ts';
import { stopTimeoutMs } from '../process/exit-deadline.ts';
import { returnIdleMemory } from '../process/idle-memory.ts';
import { logInto, openLog } from '../process/log.ts';
import { ownCommand } from '../process/own-command.ts';
import { warnAsProcessOne } from '../process/process-one.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { count, printJson, printLines, snakeKeys } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { type FaceReady, faceKeeper, faceSocketName } from '../worker/face-socket.ts';
import { ApprovedConfig } from './approved-config.ts';
import { addressesOf, type BrokerReady, insecureOption, portOf } from './broker-address.ts';
import { childEnvironment } from './child-environment.ts';
import { orchestratorLines } from './orchestrator-lines.ts';
import { type PlanRequest, planCommand, type UpPlan } from './plan-request.ts';
import { ServerStarts } from './server-starts.ts';

/** The options of `signalbox up`. */
export interface UpFlags {
  config?: string;
  data?: string;
  listen?: string;
  acceptLoss?: boolean;
  /** True if it is to run without this process and its terminal. */
  detach?: boolean;
  allowExposed?: boolean;
  insecure?: boolean;
  /** False if no face is to run for the agents of this machine. */
  face: boolean;
  json?: boolean;
}

/** The longest time for an orderly end, in milliseconds. It is enough to kill every child, one after the other. */
const stopChildrenMs = 55_000;
/** The longest wait before the face is started again, in milliseconds. Calls of shims wait 30 s for it. */
const longestFaceDelayMs = 1_000;

/**
 * Runs broker, orchestrator, the face for the agents of this machine, and the bridge to clients of A2A if it is configured, as processes,
 * and keeps them up until the process is asked to end.
 */
export async function up(flags: UpFlags): Promise<void> {
  const { allowExposed = false, insecure = false } = flags;
  const log = await openLog('up', 'info');
  warnAsProcessOne((text) => log.warn(text));
  const asked = {
    ...(flags.data !== undefined && { data: flags.data }),
    ...(flags.listen !== undefined && { listen: flags.listen }),
  };
  const named = flags.config === undefined ? {} : { config: flags.config };
  const { configs, ...plan } = await readPlan({ ...asked, ...named, search: true, allowExposed, insecure });
  const { file, dataDir, listen } = plan;
  if (flags.detach) {
    const { upDetached } = await import('./detached.ts');
    return await upDetached(plan, startingText(plan), flags);
  }
  let onHangup = (): void | Promise<void> => {};
  const stop = stopRequested({ onHangup: () => void onHangup(), timeoutMs: stopChildrenMs });
  const approved = new ApprovedConfig(plan.approval);
  const common = (last: unknown): string[] => {
    if (last !== undefined) approved.check();
    return ['--data', dataDir, ...(file === undefined ? [] : ['--config', file])];
  };

  await using brokerChild = supervise<BrokerReady>('broker', log, (last) => [
    ...[
      'broker',
      ...common(last),
      '--listen',
      formatListenAddress(last ? { ...listen, port: portOf(last) } : listen),
    ],
    ...(insecure ? ['--insecure'] : []),
    // The operator accepts one loss. A later loss, while the broker runs, is another one.
    ...(flags.acceptLoss && !last ? ['--accept-loss'] : []),
  ]);
  const broker = await Promise.race([
    startAfterPrevious(brokerChild, 'broker', { dataDir, log, handed: configs.broker }).catch(
      async (error) => {
        const { withOtherBroker } = await import('./running-already.ts');
        throw withOtherBroker(error, { ...plan, config: configs.broker });
      },
    ),
    stop,
  ]);
  if (typeof broker === 'string') return;
  if (!flags.json) printLines(...brokerLines(broker, plan));

  // With --json only `up --detach` is told, if it is the one that listens.
  const tell = flags.json
    ? (lines: string[]) => void reportToSupervisor({ progress: { lines } })
    : (lines: string[]) => printLines(lines);
  using starts = new ServerStarts(plan.started, tell);
  await using orchestratorChild = supervise<OrchestratorReport>(
    'orchestrator',
    log,
    (last) => [
      ...['orchestrator', ...common(last), '--url', broker.socket ?? broker.url],
      ...(allowExposed ? ['--allow-exposed'] : []),
      ...(insecure ? ['--insecure'] : []),
    ],
    { onProgress: (start) => starts.take(start as unknown as ServerStart) },
  );
  const socket = faceSocketOf(broker);
  await using faceChild = supervise<FaceReady>(
    'face',
    log,
    (last) => [
      ...['worker', 'face', '--socket', socket, ...common(last), ...httpOption(plan, last)],
      ...['--url', broker.socket ?? broker.url, ...(broker.socket ? ['--alias', broker.url] : [])],
      ...(insecure ? ['--insecure'] : []),
    ],
    { longestDelayMs: longestFaceDelayMs },
  );
  using _keeper = flags.face ? faceKeeper(socket) : undefined;
  const faceStarted = flags.face
    ? startFace(faceChild, plan, { dataDir, log, handed: configs.face })
    : undefined;
  await using a2aChild = supervise<A2aReady>('a2a', log, (last) => [
    ...[
      'a2a',
      'serve',
      ...common(last),
      '--url',
      broker.socket ?? broker.url,
      ...a2aOption(configs.a2a, last),
    ],
    ...(insecure ? ['--insecure'] : []),
  ]);
  const a2aStarted =
    configs.a2a && startAfterPrevious(a2aChild, 'a2a', { dataDir, log, handed: configs.a2a });
  // Their failures are thrown where their reports are awaited.
  faceStarted?.catch(() => {});
  a2aStarted?.catch(() => {});
  // The broker reads its certificate, `auth`, `groups`, `hooks` and `schedules` again. The orchestrator reads the configuration. It logs
  // which changes need a restart, also those of the broker.
  onHangup = async () => {
    // The orchestrator reports a wrong file, which approves nothing.
    await readPlan({
      ...asked,
      ...(file !== undefined && { config: file }),
      search: false,
      allowExposed: true,
      insecure: true,
    }).then(
      ({ approval }) => approved.approve(approval),
      () => {},
    );
    orchestratorChild.signal('SIGHUP');
    brokerChild.signal('SIGHUP');
  };
  const orchestrator = await Promise.race([
    startAfterPrevious(orchestratorChild, 'orchestrator', { dataDir, log, handed: configs.orchestrator }),
    stop,
  ]);
  if (typeof orchestrator === 'string') return;
  // Workers that are started from now on find the face.
  const face = await Promise.race([faceStarted, stop]);
  if (typeof face === 'string') return;
  const a2a = await Promise.race([a2aStarted, stop]);
  if (typeof a2a === 'string') return;
  if (flags.json) {
    printJson(
      snakeKeys({
        broker: { ...broker, pid: brokerChild.pid },
        orchestrator: { ...orchestrator, pid: orchestratorChild.pid },
        ...(flags.face && {
          face: { socket, ...(face?.url !== undefined && { url: face.url }), pid: faceChild.pid },
        }),
        ...(a2a && { a2a: { ...a2a, pid: a2aChild.pid } }),
      }),
    );
  } else {
    printLines(
      ...orchestratorLines(orchestrator),
      ...(face?.url === undefined ? [] : [`face ready for agents over HTTP at ${face.url}`]),
      ...Object.values(a2a?.agents ?? {}).map((url) => `agent ready for clients of A2A at ${url}`),
      '',
      ...nextLines(orchestrator, plan.where),
    );
  }
  starts.reported(orchestrator);
  using _memory = returnIdleMemory(logInto(log, 'debug'));
  log.info({ reason: await stop }, 'stopping');
}

/** Reads the configuration in a process of its own, and ends it. Rejects with what is wrong with the configuration. */
async function readPlan(request: PlanRequest): Promise<UpPlan> {
  const { command, args } = ownCommand();
  await using reader = new SupervisedChild<UpPlan>({
    name: 'process that reads the configuration',
    command: () => [command, ...args, planCommand, JSON.stringify(request)],
    env: process.env,
    onRestarted: () => {},
    onDeath: () => {},
  });
  return await reader.start();
}

/** The failures of a child whose predecessor still has the data directory, the journal or the socket. */
const heldCodes = ['data_directory_locked', 'journal_in_use', 'face_running', 'a2a_running'];
const retryMs = 500;

/** The first start of a child. */
interface FirstStart {
  dataDir: string;
  log: Logger;
  /** The configuration that the child gets. */
  handed: Config;
}

/**
 * Starts a child. Another process that holds its files may be the child of a supervisor that was killed. That process ends within
 * {@link stopTimeoutMs}, so the child is started again and again until then. A broker that is going to stay is not waited for.
 */
async function startAfterPrevious<Ready>(
  child: SupervisedChild<Ready>,
  name: string,
  { dataDir, log, handed }: FirstStart,
): Promise<Ready> {
  const deadline = performance.now() + stopTimeoutMs;
  for (let tries = 1; ; tries++) {
    try {
      return await child.start(handed);
    } catch (error) {
      if (!(error instanceof SignalboxError) || !heldCodes.includes(error.code)) throw error;
      const isStaying = error.code === 'data_directory_locked' && (await keeperOf(dataDir)) !== undefined;
      if (isStaying) throw error;
      if (performance.now() >= deadline) throw error;
      if (tries === 1) log.warn({ child: name }, `${error.message}${previousText(name)}`);
      await delay(retryMs);
    }
  }
}

/** Returns where the face listens: beside the broker's socket, where workers look for it, else in the data directory. */
function faceSocketOf({ socket, data }: BrokerReady): string {
  const path = socket === undefined ? undefined : parseBrokerAddress(socket).socketPath;
  return join(path === undefined ? data : dirname(path), faceSocketName);
}

/**
 * Starts the face and returns its report. Without a face, each worker of this machine serves its tools in its own process, so a
 * failure is only logged, unless the face is to serve agents over HTTP: these have no other way.
 */
async function startFace(
  child: SupervisedChild<FaceReady>,
  { http }: Pick<UpPlan, 'http'>,
  start: FirstStart,
): Promise<FaceReady | undefined> {
  try {
    return await startAfterPrevious(child, 'face', start);
  } catch (error) {
    if (child.isStopping) return undefined;
    if (http) throw error;
    start.log.warn(
      { child: 'face' },
      `each worker on this machine needs a process of its own: ${messageOf(error)}`,
    );
    return undefined;
  }
}

/** Returns the option by which the face also serves agents over HTTP. A port that it took is kept: agents look for it there. */
function httpOption({ http }: Pick<UpPlan, 'http'>, last: FaceReady | undefined): string[] {
  if (!http) return [];
  const port = last?.url === undefined ? http.port : Number(new URL(last.url).port || 80);
  return ['--http', formatListenAddress({ ...http, port })];
}

/** Returns the option by which the bridge listens where it did before: clients have its cards. */
function a2aOption(config: Config | undefined, last: A2aReady | undefined): string[] {
  if (!config?.a2a || !last) return [];
  const { port, protocol } = new URL(last.origin);
  const of = port === '' ? { 'http:': 80, 'https:': 443 }[protocol]! : Number(port);
  return ['--listen', formatListenAddress({ ...config.a2a.listen, port: of })];
}

async function keeperOf(dataDir: string): Promise<number | undefined> {
  const { brokerKeeper } = await import('@signalbox/daemon/data-directory');
  return brokerKeeper(dataDir);
}

function previousText(name: string): string {
  const seconds = stopTimeoutMs / 1000;
  return `\nIf that is the ${name} of a 'signalbox up' that was killed, it is about to end: waiting for it, at most ${seconds} s`;
}

function supervise<Ready>(
  name: string,
  log: Logger,
  argv: (last: Ready | undefined) => string[],
  options: Pick<SupervisedOptions<Ready>, 'onProgress' | 'longestDelayMs'> = {},
): SupervisedChild<Ready> {
  const own = ownCommand();
  return new SupervisedChild<Ready>({
    name,
    command: (last) => [own.command, ...own.args, ...argv(last)],
    env: childEnvironment(process.env),
    ...options,
    onRestarted: () => log.info({ child: name }, `the ${name} is back`),
    onDeath: ({ how, restartInMs }) => {
      log.warn({ child: name, how, restartInMs }, `the ${name} ended; starting it again`);
    },
  });
}

function brokerLines(broker: BrokerReady, { file, servers, searched }: Omit<UpPlan, 'configs'>): string[] {
  return [
    `broker ready at ${addressesOf(broker)}, data in ${broker.data}`,
    startingText({ servers, searched, ...(file !== undefined && { file }) }),
  ];
}

/** Says which servers are started and from which file, or that there is none. */
function startingText({ file, servers, searched }: Pick<UpPlan, 'file' | 'servers' | 'searched'>): string {
  return file === undefined
    ? `running without MCP servers: ${searched}`
    : `starting ${count(servers.length, 'MCP server')} from ${file}${servers.length > 0 ? `: ${servers.join(', ')}` : ''} …`;
}

function nextLines({ roles, url }: OrchestratorReport, where: readonly string[]): string[] {
  const role = (roles.find(({ tools }) => tools > 0) ?? roles[0])?.role ?? 'worker';
  const agent = `${role}-1`;
  const insecure = insecureOption(url);
  const issue = ['token', 'issue', '--agent', agent, '--role', role, '--out', `${agent}.token`];
  return [
    'Next, in another terminal: give an agent a token and see its tools',
    `  ${shellWords('signalbox', ...issue, ...where)}${insecure}`,
    `  signalbox tools list --token-file ${agent}.token${insecure}`,
    'See in a browser what it does and what needs you',
    `  ${shellWords('signalbox', 'dashboard', ...where)}${insecure}`,
    'Ctrl-C stops everything.',
  ];
}
