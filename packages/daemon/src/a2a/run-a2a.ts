import type { AgentCard } from '@a2a-js/sdk';
import { type BrokerClient, type ConnectOptions, connectBroker } from '@signalbox/client';
import { limitsOf, SignalboxError } from '@signalbox/protocol';
import { Budget, defaultA2aLimits, defaultFaceLimits, type FaceLimits, type Fault } from '@signalbox/serving';
import { openSqliteOutsideTasks } from '@signalbox/store/outside-tasks';
import {
  type AgentServer,
  pathOf,
  type RequestHead,
  startAgentServer,
  type TableAgent,
} from '@signalbox/worker/agent-server';
import type { A2aConfig, Config } from '../config/config.ts';
import { outsideTasksFile } from '../data-directory/index.ts';
import { type Log, withLevels } from '../log.ts';
import { TlsFiles } from '../tls/index.ts';
import { OutsideAsks } from './outside-asks.ts';
import { agentCard, cardJson } from './sdk/agent-card.ts';
import { answerRequest, isLegacy, versionOf } from './sdk/answer.ts';
import { outsidePath, type Route, routeOf } from './sdk/routes.ts';

/** The longest wait of a blocking call, in milliseconds. Common clients give up after 60 s. */
const defaultBlockMs = 50_000;
/** The bytes of a request beside the text of its message. */
const envelopeBytes = 64 * 1024;
/** The most bytes in which JSON writes one byte of a text. */
const escapedBytes = 6;

/** The options of {@link runA2a}. */
export interface RunA2aOptions {
  config: Config & { a2a: A2aConfig };
  dataDir: string;
  /** The way to the broker; the token and the agent come with each request. */
  connect: Pick<ConnectOptions, 'url' | 'insecure' | 'ca'>;
  /** Allows an address that other machines can reach without encryption. */
  insecure: boolean;
  /** The version that the cards tell. */
  version: string;
  log: Log;
  /** See `OutsideAsksOptions.fault`. */
  fault?: Fault;
  /** Returns the time in epoch milliseconds. */
  now?: () => number;
  /** The longest wait of a blocking call, in milliseconds; default 50 s. */
  blockMs?: number;
}

/** A running bridge. */
export interface RunningA2a extends AsyncDisposable {
  /** The addresses of the agents by their names. */
  readonly urls: Readonly<Record<string, string>>;
  /** Scheme, host and port at which it listens. */
  readonly origin: string;
  /** Resolves with the error when the disk has failed, and the process has to end. */
  readonly failed: Promise<Error>;
}

/** A caller that is connected, with its token. */
interface OutsideCaller extends TableAgent {
  readonly client: BrokerClient;
}

/**
 * Serves the agents that the configuration lists to clients of A2A, until it is disposed. Rejects with `a2a_running` if another process
 * does so from the data directory, with `bad_tls`, with `insecure_listen`, or with the error of Node's `listen`.
 */
export async function runA2a(options: RunA2aOptions): Promise<RunningA2a> {
  const { config, dataDir, connect, version, log, blockMs = defaultBlockMs } = options;
  const { a2a, auth } = config;
  await using starting = new AsyncDisposableStack();
  const tasks = starting.use(await openSqliteOutsideTasks(outsideTasksFile(dataDir)));
  const asks = new OutsideAsks({
    tasks,
    agents: a2a.agents,
    limits: { ...defaultA2aLimits, ...a2a.limits },
    deadlineMs: a2a.deadlineMs,
    keepMs: a2a.keepMs,
    log,
    fault: options.fault,
    ...(options.now && { now: options.now }),
  });
  const report = withLevels(log, {
    face_agent_connected: 'info',
    face_agent_left: 'info',
    http_face_failed: 'error',
    face_connections_evicted: 'warn',
  });
  const quiet = withLevels(log, {});
  const files =
    a2a.tls &&
    starting.use(await TlsFiles.open({ ...a2a.tls, onChange: (pair) => server.setTls(pair), log }));
  const cards = new Map<string, AgentCard>();
  const limits = { ...defaultFaceLimits, ...config.worker.limits };
  const bodyLimits = withMessages(limits, config);
  const isListed = (agent: string): boolean => Object.hasOwn(a2a.agents, agent);
  const routeFor = (head: RequestHead) =>
    routeOf(head.method ?? '', pathOf(head), isLegacy(versionOf(head)), isListed);

  const server: AgentServer = await startAgentServer<OutsideCaller>(
    {
      listen: a2a.listen,
      ...(files && { tls: files.pair }),
      insecure: options.insecure,
      ...(auth && { agentClaim: auth.agentClaim }),
      allowedHosts: a2a.url === undefined ? [] : [new URL(a2a.url).hostname],
      limits: { ...limits, ...bodyLimits },
      log: report,
    },
    {
      encryptedBy: 'a2a.tls',
      maxBodyBytes: bodyLimits.bodyBytes,
      isJson: (contentType) =>
        contentType !== null && /^application\/(a2a\+)?json\s*(;|$)/i.test(contentType),
      allowsNoBody: true,
      events: () => 'also',
      refuseTarget(head) {
        const route = routeFor(head);
        return 'status' in route ? route : undefined;
      },
      answerAnyone(head, reply) {
        const route = routeFor(head) as Route;
        if (route.to !== 'card') return false;
        const vary = { vary: 'A2A-Version', 'cache-control': 'no-cache' };
        void cardJson(cards.get(route.agent)!, isLegacy(versionOf(head))).then((json) =>
          reply.json(json, { headers: vary }),
        );
        return true;
      },
      async connect({ token, agent }, { signal, timeoutMs }) {
        const client = await connectBroker({
          ...connect,
          token,
          agent,
          signal,
          connectTimeoutMs: timeoutMs,
          log: (event) => quiet({ ...event, level: 'debug' }),
        });
        try {
          if (!a2a.roles.includes(client.role)) {
            const message = `the role '${client.role}' is not one of those that may ask from outside (a2a.roles)`;
            throw new SignalboxError('forbidden', message);
          }
          await asks.join(client);
        } catch (thrown) {
          await client.close();
          throw thrown;
        }
        return callerOf(client, asks, limits.bytesPerSecond);
      },
      async answer({ client }, request, reply) {
        const route = routeFor(request) as Exclude<Route, { to: 'card' }>;
        const hangUp = new AbortController();
        reply.onHangUp = () => hangUp.abort();
        const signal = AbortSignal.any([hangUp.signal, asks.ending]);
        const { agent } = route;
        const card = cards.get(agent)!;
        await answerRequest(request, route, { asks, client, agent, card, signal, blockMs }, reply);
      },
    },
  );
  const origin = a2a.url ?? server.origin;
  const urls = Object.fromEntries(
    Object.keys(a2a.agents).map((name) => [name, `${origin}${outsidePath}${name}`]),
  );
  for (const [name, agent] of Object.entries(a2a.agents))
    cards.set(name, agentCard(agent, urls[name]!, version));
  // Blocking calls and streams end first, with the state of their tasks, so that their answers can leave.
  starting.use(server);
  starting.use(asks);
  const running = starting.move();
  return {
    urls,
    origin: server.origin,
    failed: asks.failed,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Returns limits under which the largest message that the broker takes passes, also if JSON escapes all of it. */
function withMessages(
  limits: FaceLimits,
  { broker }: Config,
): Pick<FaceLimits, 'bodyBytes' | 'bytesPerAgent' | 'bytes'> {
  const largest = escapedBytes * limitsOf(undefined, broker.limits).message.bytes + envelopeBytes;
  return {
    bodyBytes: Math.max(limits.bodyBytes, largest),
    bytesPerAgent: Math.max(limits.bytesPerAgent, largest),
    bytes: Math.max(limits.bytes, largest),
  };
}

function callerOf(client: BrokerClient, asks: OutsideAsks, bytesPerSecond: number): OutsideCaller {
  return {
    client,
    agent: client.agent,
    role: client.role,
    closed: client.closed,
    bytes: new Budget(bytesPerSecond, 2 * bytesPerSecond, performance.now()),
    isInUse: () => asks.isSending(client.agent),
    async sweep() {},
    close: () => client.close(),
  };
}
