import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { hostAgent } from '@signalbox/protocol';
import {
  type Child,
  type ChildEnd,
  counterServer,
  lastingPort,
  startChild,
  testAuthority,
} from '@signalbox/testing';
import { type CuttingProxy, startCuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { startInstalledPostgres } from '../../support/postgres/postgres-server.ts';
import { sinkAgent } from '../process-messages.ts';
import { type RestartingProcess, startRestarting } from '../restarting-process.ts';
import { type Machine, mayPartition, startCommand, startMachine } from './machines.ts';

const schema = 'signalbox';

/** The servers that agents call, by name: that of the hub, and those of the two labels. */
export const servers = ['near', 'gpu', 'lab'] as const;
export type ServerName = (typeof servers)[number];

/** Three brokers on one PostgreSQL, five orchestrators on the hub and two labels, and agents in one process. */
export interface HostSite extends AsyncDisposable {
  readonly directory: string;
  readonly postgres: Awaited<ReturnType<typeof startInstalledPostgres>>;
  readonly schema: string;
  /** The way of brokers and journals to PostgreSQL. */
  readonly proxy: CuttingProxy;
  readonly brokers: readonly RestartingProcess<unknown>[];
  readonly urls: readonly string[];
  readonly ca: string;
  readonly hubs: readonly RestartingProcess<unknown>[];
  readonly gpus: readonly RestartingProcess<unknown>[];
  readonly lab: RestartingProcess<unknown>;
  /** The machines of gpu and of lab; none if this process may make no namespaces. */
  readonly machines: readonly Machine[];
  readonly agents: Child<unknown>;
  readonly names: readonly string[];
  readonly tokens: ReadonlyMap<string, string>;
  readonly counterFiles: readonly string[];
  keepFiles(): void;
}

export interface HostSiteOptions {
  agents: number;
  mailboxes: readonly string[];
  onDeath: (name: string, end: ChildEnd, stderr: string) => void;
  onEnded: (message: unknown) => void;
}

export async function startHostSite({
  agents: count,
  mailboxes,
  onDeath,
  onEnded,
}: HostSiteOptions): Promise<HostSite> {
  await using starting = new AsyncDisposableStack();
  const postgres = starting.use(await startInstalledPostgres());
  const proxy = starting.use(await startCuttingProxy(postgres.url));
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-hosts-'));
  let isKept = false;
  starting.defer(async () => {
    if (!isKept) await rm(directory, { recursive: true, force: true });
  });
  const machines: Machine[] = [];
  if (await mayPartition()) for (const at of [1, 2]) machines.push(starting.use(await startMachine(at)));
  const authority = await testAuthority();
  const { cert, key } = await authority.issue({ names: ['127.0.0.1', ...machines.map(({ hub }) => hub)] });
  const [certFile, keyFile, caFile] = ['broker.pem', 'broker.key', 'ca.pem'].map((name) =>
    join(directory, name),
  );
  await writeFile(certFile!, cert);
  await writeFile(keyFile!, key, { mode: 0o600 });
  await writeFile(caFile!, authority.ca);
  const counters = join(directory, 'counters');
  await mkdir(counters);
  const counter = (name: string) => ({
    ...counterServer(join(counters, `${name}.jsonl`)),
    env: { COUNTER_FILE: join(counters, `${name}.jsonl`) },
    circuitThreshold: 10_000,
    maxRestarts: 10_000,
  });
  const store = { postgres: proxy.url, schema };
  const file = async (name: string, config: object): Promise<string> => {
    const folder = join(directory, name);
    await mkdir(folder);
    const path = join(folder, 'signalbox.yaml');
    await writeFile(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  };
  const restarting = async (name: string, start: () => Promise<Child<unknown>>) =>
    starting.use(
      await startRestarting<unknown>({
        name,
        start,
        retryMs: 200,
        onDeath: (end, _at, stderr) => onDeath(name, end, stderr),
      }),
    );

  const ports = [await lastingPort(), await lastingPort(), await lastingPort()];
  const brokers: RestartingProcess<unknown>[] = [];
  for (const [at, port] of ports.entries()) {
    const config = await file(`broker-${at}`, {
      broker: {
        listen: `0.0.0.0:${port}`,
        socket: false,
        data: './data',
        tls: { cert: certFile, key: keyFile },
        store: { ...store, name: `b${at}` },
      },
    });
    brokers.push(
      await restarting(`broker ${at}`, () =>
        startCommand(['broker', '--config', config], { logFile: join(directory, `broker-${at}.log`) }),
      ),
    );
  }
  const addressesFrom = (ip: string): string => ports.map((port) => `wss://${ip}:${port}`).join(',');
  const url = addressesFrom('127.0.0.1');
  const operatorToken = (
    await readFile(join(directory, 'broker-0', 'data', 'operator.token'), 'utf8')
  ).trim();
  const names = Array.from({ length: count }, (_, at) => `agent-${at}`);
  const tokens = new Map<string, string>();
  {
    const wanted = [
      { agent: 'orchestrator', role: 'orchestrator' },
      ...['gpu', 'lab'].map((label) => ({ agent: hostAgent(label), role: 'host' })),
      ...[...names, ...mailboxes, sinkAgent].map((agent) => ({ agent, role: 'worker' })),
    ];
    await using operator = await connectBroker({
      url,
      ca: authority.ca,
      token: operatorToken,
      agent: 'operator#site',
    });
    for (const one of wanted) tokens.set(one.agent, (await operator.admin('token_issue', one)).token);
  }
  const orchestrator = async (
    name: string,
    config: object,
    { agent, label, machine }: { agent: string; label?: string; machine?: Machine | undefined },
  ): Promise<RestartingProcess<unknown>> => {
    const path = await file(name, config);
    const tokenFile = join(directory, `${name}.token`);
    await writeFile(tokenFile, `${tokens.get(agent)!}\n`, { mode: 0o600 });
    const place = ['--url', addressesFrom(machine?.hub ?? '127.0.0.1'), '--ca-file', caFile!];
    const as = ['--token-file', tokenFile, ...(label === undefined ? [] : ['--host', label])];
    return await restarting(name, () =>
      startCommand(['orchestrator', '--config', path, ...place, ...as], {
        prefix: machine?.prefix ?? [],
        logFile: join(directory, `${name}.log`),
      }),
    );
  };
  const shared = { broker: { data: './data', store } };
  const lab = await orchestrator(
    'lab',
    { broker: { data: './data' }, mcpServers: { lab: counter('lab') } },
    { agent: hostAgent('lab'), label: 'lab', machine: machines[0] },
  );
  const gpus: RestartingProcess<unknown>[] = [];
  for (const at of [0, 1])
    gpus.push(
      await orchestrator(
        `gpu-${at}`,
        { ...shared, mcpServers: { gpu: counter(`gpu-${at}`) } },
        { agent: hostAgent('gpu'), label: 'gpu', machine: at === 0 ? machines[1] : undefined },
      ),
    );
  const hubs: RestartingProcess<unknown>[] = [];
  for (const at of [0, 1])
    hubs.push(
      await orchestrator(
        `hub-${at}`,
        { ...shared, mcpServers: { near: counter(`near-${at}`) }, hosts: { gpu: ['gpu'], lab: ['lab'] } },
        { agent: 'orchestrator' },
      ),
    );
  const ownTokens = Object.fromEntries(names.map((name) => [name, tokens.get(name)!]));
  const agents = starting.use(
    await startChild<unknown>(new URL('./agents-main.ts', import.meta.url), {
      args: [JSON.stringify({ url, ca: authority.ca, tokens: ownTokens })],
      onMessage: onEnded,
    }),
  );
  const resources = starting.move();
  return {
    directory,
    postgres,
    schema,
    proxy,
    brokers,
    hubs,
    gpus,
    lab,
    machines,
    agents,
    names,
    tokens,
    urls: url.split(','),
    ca: authority.ca,
    counterFiles: ['lab', 'gpu-0', 'gpu-1', 'near-0', 'near-1'].map((name) =>
      join(counters, `${name}.jsonl`),
    ),
    keepFiles: () => {
      isKept = true;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
