import type { Config } from '@signalbox/daemon/config';
import { findConfig, labelledConfig } from '@signalbox/daemon/config/internal';
import { dataDirectory, runningBroker } from '@signalbox/daemon/data-directory';
import { type OrchestratorReport, runOrchestrator, type ServerStart } from '@signalbox/daemon/orchestrator';
import { isSupervised, reportToSupervisor } from '@signalbox/daemon/supervisor';
import { readTokenFile } from '@signalbox/daemon/token-file';
import { hostLabelPattern, SignalboxError } from '@signalbox/protocol';
import { handedConfig } from '../config/handed-config.ts';
import { isSameFile, loadFound } from '../config/load-found.ts';
import { authoritiesFor } from '../connection/authorities.ts';
import { withConnectionHint } from '../connection/connected-client.ts';
import { brokerPlace, hasAgentEnvironment, namedToken } from '../connection/connection.ts';
import { faultFromEnvironment } from '../process/fault-environment.ts';
import { returnIdleMemory } from '../process/idle-memory.ts';
import { logInto, openLog } from '../process/log.ts';
import { warnAsProcessOne } from '../process/process-one.ts';
import { firstEnd, stopRequested } from '../process/stop-signals.ts';
import { ownTracing } from '../process/tracing.ts';
import { printLines } from '../terminal/output.ts';
import { announceReady } from './announce-ready.ts';
import { orchestratorLines } from './orchestrator-lines.ts';
import { withOtherProgram } from './running-already.ts';
import { ServerStarts } from './server-starts.ts';

/** The options of `signalbox orchestrator`. */
export interface OrchestratorFlags {
  config?: string;
  url?: string;
  insecure?: boolean;
  caFile?: string;
  tokenFile?: string;
  data?: string;
  allowExposed?: boolean;
  host?: string;
  json?: boolean;
}

/** Runs an orchestrator until the process is asked to end or the broker refuses it. */
export async function orchestratorProcess(flags: OrchestratorFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  if (flags.host !== undefined && flags.tokenFile !== undefined)
    readTokenFile(flags.tokenFile, `--host ${checkedLabel(flags.host)}`);
  const found = findConfig(flags.config, { search: !isSupervised() });
  const config = (await handedConfig()) ?? (await loadFound(found));
  const broker = brokerPlace(flags, { found, config });
  const authorities = authoritiesFor(broker.url, flags, process.env);
  const log = await openLog('orchestrator', 'info');
  warnAsProcessOne((text) => log.warn(text));
  let onHangup = () => log.warn('still starting; SIGHUP is for later');
  const stop = stopRequested({ onHangup: () => onHangup() });
  const start = new AbortController();
  void stop.then(() => start.abort());
  const token = ownToken(flags);
  const label = flags.host === undefined ? undefined : checkedLabel(flags.host);
  if (label !== undefined && !found && !isSupervised()) throw nothingToHost(label);
  if (label !== undefined && found) refuseOthersServers(label, found.file, { config, flags });
  const { mcpServers } = label === undefined ? config : labelledConfig(config, label);
  const servers = Object.entries(mcpServers).filter(([, { disabled }]) => !disabled);
  using starts = shownStarts(
    servers.map(([name]) => name),
    flags,
  );
  const tokenFile = flags.tokenFile ?? process.env.SIGNALBOX_TOKEN_FILE;
  await using orchestrator = await runOrchestrator({
    config,
    url: broker.url,
    insecure: flags.insecure ?? false,
    ...(authorities && { ca: authorities.pem }),
    ...(found && { configFile: found.file }),
    ...(token !== undefined && { token }),
    ...(label !== undefined && { label }),
    ...(flags.data !== undefined && { dataDir: flags.data }),
    ...(tokenFile && { tokenFiles: [tokenFile] }),
    allowExposed: flags.allowExposed ?? false,
    onServerStart: starts.take,
    signal: start.signal,
    fault,
    tracing: await ownTracing(),
    log: logInto(log),
  }).catch((error) => {
    if (start.signal.aborted) return undefined;
    const hinted = withConnectionHint(error, broker);
    // A supervisor starts it again when the other one has ended.
    throw isSupervised() ? hinted : withOtherProgram(hinted, dataDirectory(flags.data, config), label);
  });
  if (!orchestrator) return;
  const ready = await Promise.race([orchestrator.ready, stop]);
  if (typeof ready === 'string') return;
  onHangup = () => void orchestrator.reload();
  announceReady({ ...ready }, orchestratorLines(ready, { file: found?.file, label }), flags);
  starts.reported(ready);
  using _memory = returnIdleMemory(logInto(log, 'debug'));
  const end = await firstEnd<string | Error>(stop, orchestrator.ended);
  if (end instanceof Error) throw end;
  log.info({ reason: end }, 'stopping');
}

/** The folder of this process has no configuration, nor has one above it. */
function nothingToHost(label: string): SignalboxError {
  const file = 'signalbox.yaml';
  const message = `there is no ${file} here, in a parent folder or in ~/.config/signalbox, so host ${label} has no MCP servers to serve`;
  return new SignalboxError('bad_config', message, {
    details: {
      hint: `write ${file} here, as in mcpServers: { files: { command: npx, args: [-y, PACKAGE] } }, or name a file with --config`,
    },
  });
}

function checkedLabel(label: string): string {
  if (hostLabelPattern.test(label)) return label;
  const message = `--host: '${label}' is no label: use lower-case letters, digits, _ and - (at most 32)`;
  throw new SignalboxError('usage', message, { details: { hint: 'as in --host gpu' } });
}

/**
 * Refuses to start the servers of a file that the system of this machine runs: they are those of its orchestrator without a label, unless
 * the file places some with this label.
 */
function refuseOthersServers(
  label: string,
  file: string,
  { config, flags }: { config: Config; flags: OrchestratorFlags },
): void {
  if (Object.keys(config.hosts).length > 0) return;
  const dataDir = dataDirectory(flags.data, config);
  if (!isSameFile(runningBroker(dataDir)?.config, file)) return;
  const message = `the system on ${dataDir} runs ${file}, which gives no server to host ${label}`;
  throw new SignalboxError('bad_config', message, {
    details: {
      hint: `set host: ${label} in the entry of a server, or give this orchestrator a file of its own with --config`,
    },
  });
}

/** Returns the receiver of the starts of servers: the supervisor, the screen or, with --json, nobody. */
function shownStarts(servers: readonly string[], { json }: OrchestratorFlags) {
  if (isSupervised()) {
    const take = (start: ServerStart) => void reportToSupervisor({ progress: { ...start } });
    return { take, reported: () => {}, [Symbol.dispose]: () => {} };
  }
  const starts = new ServerStarts(json ? [] : servers, json ? () => {} : (lines) => printLines(lines));
  return {
    take: (start: ServerStart) => starts.take(start),
    reported: (report: OrchestratorReport) => starts.reported(report),
    [Symbol.dispose]: () => starts[Symbol.dispose](),
  };
}

/** Returns the token that the user named; without one, the orchestrator takes its own from the data directory. */
function ownToken(flags: OrchestratorFlags): string | undefined {
  const named = namedToken(flags, process.env);
  if (named || !hasAgentEnvironment(process.env)) return named?.token;
  throw new SignalboxError('usage', 'SIGNALBOX_AGENT is set, so no token is issued with the operator’s', {
    details: { hint: 'pass the orchestrator’s token with --token-file, or unset SIGNALBOX_AGENT' },
  });
}
