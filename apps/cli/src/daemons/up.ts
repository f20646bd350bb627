import { type Config, findConfigFile, formatListenAddress, loadConfig } from '@signalbox/config';
import { dataDirectory } from '@signalbox/daemon/data-directory';
import type { OrchestratorReport } from '@signalbox/daemon/orchestrator';
import { SupervisedChild } from '@signalbox/daemon/supervisor';
import type { Logger } from 'pino';
import { openLog } from '../process/log.ts';
import { ownCommand } from '../process/own-command.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { count, printJson, printLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import type { BrokerReady } from './broker.ts';
import { listenOption } from './listen-option.ts';
import { orchestratorLines } from './orchestrator-lines.ts';

export interface UpFlags {
  config?: string;
  data?: string;
  listen?: string;
  insecure?: boolean;
  json?: boolean;
}

/** Runs broker and orchestrator as two processes and keeps them up until the process is asked to end. */
export async function up(flags: UpFlags): Promise<void> {
  const configFile = findConfigFile(flags.config);
  const config = await loadConfig(configFile);
  const dataDir = dataDirectory(flags.data, config);
  const listen = formatListenAddress(listenOption(flags.listen) ?? config.broker.listen);
  const log = await openLog('up', 'info');
  let onHangup = () => {};
  const stop = stopRequested({ onHangup: () => onHangup() });

  let broker: BrokerReady | undefined;
  await using brokerChild = supervise('broker', log, {
    argv: () => [
      ...['broker', '--data', dataDir, '--listen', broker ? new URL(broker.url).host : listen],
      ...(configFile === undefined ? [] : ['--config', configFile]),
      ...(flags.insecure ? ['--insecure'] : []),
    ],
    onReady: (facts) => {
      broker = facts as unknown as BrokerReady;
    },
  });
  if ((await Promise.race([brokerChild.start(), stop])) !== undefined || !broker) return;
  if (!flags.json) printLines(...brokerLines(broker, configFile, config));

  let tools: OrchestratorReport | undefined;
  const { url } = broker;
  await using orchestratorChild = supervise('orchestrator', log, {
    argv: () => [
      ...['orchestrator', '--data', dataDir, '--url', url],
      ...(configFile === undefined ? [] : ['--config', configFile]),
    ],
    onReady: (facts) => {
      tools = facts as unknown as OrchestratorReport;
    },
  });
  // It reads the configuration, and says what of it needs a restart, the broker's part included.
  onHangup = () => orchestratorChild.signal('SIGHUP');
  if ((await Promise.race([orchestratorChild.start(), stop])) !== undefined || !tools) return;
  if (flags.json) {
    printJson({
      broker: { ...broker, pid: brokerChild.pid },
      orchestrator: { ...tools, pid: orchestratorChild.pid },
    });
  } else {
    printLines(...orchestratorLines(tools), '', ...nextLines(tools, configFile, dataDir));
  }
  log.info({ reason: await stop }, 'stopping');
}

function supervise(
  name: string,
  log: Logger,
  options: { argv: () => string[]; onReady: (facts: Record<string, unknown>) => void },
): SupervisedChild {
  const own = ownCommand();
  let starts = 0;
  return new SupervisedChild({
    name,
    command: () => [own.command, ...own.args, ...options.argv()],
    env: withoutIdentity(process.env),
    onReady: (facts) => {
      options.onReady(facts);
      if (starts++ > 0) log.info({ child: name }, `the ${name} is back`);
    },
    onDeath: ({ how, restartInMs }) => {
      log.warn({ child: name, how, restartInMs }, `the ${name} ended; starting it again`);
    },
  });
}

/** Removes what says who this shell is: the children find their broker and tokens in the data directory. */
function withoutIdentity(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { SIGNALBOX_URL, SIGNALBOX_AGENT, SIGNALBOX_TOKEN, SIGNALBOX_TOKEN_FILE, ...rest } = env;
  return rest;
}

function brokerLines({ url, data }: BrokerReady, configFile: string | undefined, config: Config): string[] {
  const servers = Object.keys(config.mcpServers);
  return [
    `broker ready at ${url}, data in ${data}`,
    configFile === undefined
      ? 'no signalbox.yaml here and no --config: running without MCP servers'
      : `starting ${count(servers.length, 'MCP server')} from ${configFile}${servers.length > 0 ? `: ${servers.join(', ')}` : ''} …`,
  ];
}

function nextLines({ roles }: OrchestratorReport, configFile: string | undefined, dataDir: string): string[] {
  const role = roles[0]?.role ?? 'worker';
  const where =
    configFile === undefined ? `--data ${shellWords(dataDir)}` : `--config ${shellWords(configFile)}`;
  return [
    'Next, in another terminal: give an agent a token and see its tools',
    `  signalbox token issue --agent ${role}-1 --role ${role} --out ${role}-1.token ${where}`,
    `  signalbox tools list --token-file ${role}-1.token ${where}`,
    'Ctrl-C stops everything.',
  ];
}
