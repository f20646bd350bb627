import { type BrokerClient, type ConnectOptions, connectBroker, requestAddress } from '@signalbox/client';
import { hostProblems } from '@signalbox/client/operator/internal';
import type {
  ConnectRemote,
  RemoteRequest,
  RemoteServer,
  ServerAnswer,
  ToolRequest,
} from '@signalbox/mcp-host';
import {
  type HostedListReply,
  type HostedReply,
  type HostReport,
  hostAgent,
  hostedListReplySchema,
  hostedReplySchema,
  hostRole,
  isJsonObject,
  type McpRequest,
  messageOf,
  SignalboxError,
} from '@signalbox/protocol';
import { within } from '@signalbox/serving';
import { answerOfOutcome, hostedBody } from './hosted-calls.ts';

/** The time between two questions to an orchestrator with a label, in milliseconds. */
const askEveryMs = 1_000;
/**
 * The longest wait for an answer, in milliseconds. An orchestrator that gave none to any question for so long takes no new calls; until
 * then they wait in its inbox.
 */
const graceMs = 3_500;
/** The time between two looks for labels that the configuration does not name, in milliseconds. */
const lookEveryMs = 5_000;
/** The most of them that are asked for their servers. */
const maxUnnamed = 16;
/** The most servers that are named as refused. */
const maxRefused = 100;
/** The longest wait for the receipts of calls that were sent before the end of their orchestrator was known, in milliseconds. */
const receiptsMs = 250;
/** The longest wait for the restart of a server. */
const reloadMs = 60_000;
/** The time of a question that is answered when the orchestrator ends, in milliseconds. Then it is asked again. */
const endQuestionMs = 5_000;

/** How the orchestrators with labels are reached, and which servers each may serve. */
export interface RemoteHostsOptions {
  connection: Omit<ConnectOptions, 'agent'> & { agent: string };
  /** Returns the servers that each label may serve. */
  named: () => Readonly<Record<string, readonly string[]>>;
  /** Epoch milliseconds. */
  now?: () => number;
  log: (event: { event: string; host: string; reason?: string; message?: string }) => void;
}

type HostedServers = ReadonlyMap<string, HostedReply['servers'][number]>;

/** Knows the orchestrators with labels: which servers they have now, and since when one is away. */
export class RemoteHosts implements AsyncDisposable {
  readonly #options: RemoteHostsOptions;
  readonly #hosts = new Map<string, RemoteHost>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: RemoteHostsOptions) {
    this.#options = options;
  }

  /** See {@link ConnectRemote}. */
  readonly connect: ConnectRemote = async (server, { label }, options) => {
    return await this.#host(label).open(server, options);
  };

  /**
   * Asks the orchestrators of all labels of the configuration from now on, also those of which no server is named. Of the labels that it
   * does not name, those that are connected are asked which servers are refused to them.
   */
  follow(client: Pick<BrokerClient, 'listConnected'>): void {
    for (const label of Object.keys(this.#options.named())) this.#host(label);
    const look = (): void => void this.#lookForUnnamed(client).catch(() => {});
    look();
    this.#timer = setInterval(look, lookEveryMs).unref();
  }

  /** Reports each label: whether its orchestrator is there, and the servers that it serves without being named for them. */
  reports(): HostReport[] {
    for (const label of Object.keys(this.#options.named())) this.#host(label);
    const reports = Array.from(this.#hosts.values(), (host) => host.report());
    return reports.filter(({ host, refused }) => this.#isNamed(host) || refused !== undefined);
  }

  /** Has a server restarted where it runs, and resolves when that is done. Rejects with a `SignalboxError`. */
  async reload(label: string, server: string): Promise<void> {
    await this.#host(label).reload(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await Promise.all(Array.from(this.#hosts.values(), (host) => host.stop()));
  }

  #isNamed(label: string): boolean {
    return Object.hasOwn(this.#options.named(), label);
  }

  /** Asks connected orchestrators of labels without a name from now on, and those that have left no more. */
  async #lookForUnnamed(client: Pick<BrokerClient, 'listConnected'>): Promise<void> {
    const connected = await client.listConnected({ role: hostRole });
    const there = new Set(connected.map(({ agent }) => labelOf(agent)));
    const unnamed = [...this.#hosts].filter(([label]) => !this.#isNamed(label));
    for (const [label, host] of unnamed) {
      if (there.has(label)) continue;
      this.#hosts.delete(label);
      await host.stop();
    }
    // Another look or the end may have come meanwhile.
    if (this.#isStopped) return;
    const found = [...there].filter((label) => !this.#isNamed(label) && !this.#hosts.has(label));
    // A change of the configuration may leave more of them.
    const room = maxUnnamed - [...this.#hosts.keys()].filter((label) => !this.#isNamed(label)).length;
    for (const label of found.slice(0, Math.max(0, room))) this.#host(label);
  }

  #host(label: string): RemoteHost {
    const known = this.#hosts.get(label);
    if (known) return known;
    const { connection, log, now = Date.now } = this.#options;
    // A connection has one lane, so that each host has a connection of its own.
    const client = (signal: AbortSignal): Promise<BrokerClient> =>
      connectBroker({
        ...connection,
        agent: requestAddress(connection.agent),
        waitForBroker: true,
        signal,
      });
    const named = () => this.#options.named()[label] ?? [];
    const host = new RemoteHost(label, { connect: client, named, log, now });
    this.#hosts.set(label, host);
    return host;
  }
}

interface RemoteHostDeps {
  connect: (signal: AbortSignal) => Promise<BrokerClient>;
  /** Returns the servers that it may serve. */
  named: () => readonly string[];
  log: RemoteHostsOptions['log'];
  now: () => number;
}

/** A server of the host that is in use. */
interface OpenServer {
  version: string | undefined;
  lose: (reason: string) => void;
  onListsChanged: () => void;
}

/** The orchestrators of one label, of which one serves. */
class RemoteHost {
  readonly #label: string;
  readonly #deps: RemoteHostDeps;
  readonly #open = new Map<string, Set<OpenServer>>();
  readonly #startedAt: number;
  #found: HostedServers | undefined;
  #awaySince: number | undefined;
  /** True while it is away because it said that it ends. */
  #hasEnded = false;
  #wasSeen = false;
  /** The first question until its answer, or until it was missed. */
  readonly #asked: Promise<void>;
  /** The time of the newest question that was answered, and the time since when the connection to the broker is up. */
  #heardAt = Number.NEGATIVE_INFINITY;
  #connectedAt = Number.POSITIVE_INFINITY;
  #isEndAsked = false;
  /** The refused servers that were logged. */
  #toldRefused = '';
  /** Calls that the broker may not have handed out yet. */
  readonly #leaving = new Set<Promise<void>>();
  /** False from an answer that can't be read to the next one that can. */
  #isUnderstood = true;
  readonly #timer: NodeJS.Timeout;
  readonly #stop = new AbortController();
  readonly #client: Promise<BrokerClient>;

  constructor(label: string, deps: RemoteHostDeps) {
    this.#label = label;
    this.#deps = deps;
    this.#startedAt = deps.now();
    this.#client = deps.connect(this.#stop.signal);
    this.#client.then(
      (client) => this.#follow(client),
      () => {},
    );
    this.#asked = this.#ask();
    this.#timer = setInterval(() => void this.#ask(), askEveryMs);
  }

  /** Uses a server of the host. Rejects if the host or the server is not there. */
  async open(
    server: string,
    { signal, onListsChanged }: Parameters<ConnectRemote>[2],
  ): Promise<RemoteServer> {
    // What was heard last is at most a second old; before the first answer, it is waited for.
    if (!this.#wasSeen) await this.#asked;
    signal.throwIfAborted();
    const client = await this.#client;
    const problem = this.#problemOf(server);
    if (problem !== undefined) {
      const isOffered = !this.#found || this.#found.has(server);
      const state = this.#found ? this.#found.get(server)?.state : 'away';
      const details = { ...(this.#hasEnded && { ended: true }), ...(state !== undefined && { state }) };
      throw new SignalboxError(isOffered ? 'server_failed' : 'server_not_found', problem, { details });
    }
    const { promise: lost, resolve: lose } = Promise.withResolvers<string>();
    const version = this.#found?.get(server)?.version;
    const use: OpenServer = { version, lose, onListsChanged };
    const uses = this.#open.get(server) ?? new Set();
    this.#open.set(server, uses.add(use));
    return {
      lost,
      page: (list, after, { timeoutMs, signal: ended }) =>
        this.#page(client, { op: 'hosted_list', server, list, after }, { timeoutMs, signal: ended }),
      send: (asked, request, onReport) => this.#send(client, { server, ...asked }, request, onReport),
      close: () => uses.delete(use),
    };
  }

  report(): HostReport {
    const refused = this.#refused();
    const away = this.#isAway ? (this.#awaySince ?? this.#startedAt) : undefined;
    return {
      host: this.#label,
      servers: [...this.#deps.named()],
      ...(away !== undefined && { away_since: away, ...(!this.#wasSeen && { never_seen: true as const }) }),
      ...(refused.length > 0 && { refused }),
    };
  }

  /** Lists servers that it offers and may not, at most a hundred. */
  #refused(): string[] {
    const named = this.#deps.named();
    const refused = [...(this.#found?.keys() ?? [])].filter((server) => !named.includes(server));
    return refused.slice(0, maxRefused);
  }

  async reload(server: string): Promise<void> {
    if (!this.#found) throw new SignalboxError('server_failed', this.#problemOf(server)!);
    if (await this.#question({ reload: server }, reloadMs)) return await this.#ask();
    const message = `host '${this.#label}' did not answer in time whether '${server}' was started again`;
    throw new SignalboxError('server_failed', message, { retryable: true });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#timer);
    await (await this.#client.catch(() => undefined))?.close();
  }

  get #isAway(): boolean {
    return this.#found === undefined;
  }

  /** Says why a server takes no calls; `undefined` if it does. */
  #problemOf(server: string): string | undefined {
    if (!this.#found) {
      const since = new Date(this.#awaySince ?? this.#startedAt).toISOString();
      const how = this.#wasSeen ? 'has been away' : 'has not been seen';
      return `host '${this.#label}' ${how} since ${since}`;
    }
    const found = this.#found.get(server);
    if (!found) return `host '${this.#label}' has no server '${server}'`;
    if (found.state === 'ready' || found.state === 'idle') return undefined;
    return `on host '${this.#label}' it is ${found.state.replaceAll('_', ' ')}${found.problem === undefined ? '' : `: ${found.problem}`}`;
  }

  /** Follows the own connection: while it is down, no host can be heard. */
  #follow(client: BrokerClient): void {
    const note = (): void => {
      this.#connectedAt = client.state.name === 'ready' ? this.#deps.now() : Number.POSITIVE_INFINITY;
    };
    client.onState(note);
    note();
  }

  /** Asks which servers there are. Questions overlap, so that an answer that is late is not a host that is away. Never rejects. */
  async #ask(): Promise<void> {
    const askedAt = this.#deps.now();
    try {
      // A question to nobody is a refusal, which the broker notes.
      const isThere = this.#found !== undefined || (await this.#isConnected());
      const answer = isThere ? await this.#question({}, graceMs) : undefined;
      if (this.#stop.signal.aborted) return;
      if (answer) this.#heard(answer, askedAt);
      else this.#missed(askedAt);
    } catch (thrown) {
      if (this.#stop.signal.aborted) return;
      if (this.#isUnderstood)
        this.#deps.log({ event: 'host_not_understood', host: this.#label, reason: messageOf(thrown) });
      this.#isUnderstood = false;
      this.#missed(askedAt);
    }
  }

  /** Asks the broker whether an orchestrator of the label is connected. */
  async #isConnected(): Promise<boolean> {
    const client = await this.#client;
    const found = await client.findRecipient(hostAgent(this.#label)).catch(() => undefined);
    return found !== undefined && found.connections.length > 0;
  }

  /** Waits to be told that the host ends, while it is there. Never rejects. */
  async #awaitEnd(): Promise<void> {
    if (this.#isEndAsked) return;
    this.#isEndAsked = true;
    const askedAt = this.#deps.now();
    const answer = await this.#question({ at_end: true }, endQuestionMs).catch(() => undefined);
    const isOver = this.#deps.now() - askedAt > endQuestionMs / 2;
    if (this.#found && !this.#stop.signal.aborted && answer?.ends) {
      if (!answer.ends.successor) this.#left(this.#deps.now(), { inOrder: true });
      // The next question tells the host that it was heard: no more calls come.
      await within(Promise.all(this.#leaving), receiptsMs);
      await this.#ask();
    }
    this.#isEndAsked = false;
    if (isOver && this.#found && !answer?.ends && !this.#stop.signal.aborted) void this.#awaitEnd();
    // After an answer long before its time, or an end that was none, the next sign of life has it asked again.
  }

  /** Resolves with `undefined` if there was no answer in time. */
  async #question(
    about: { at_end?: true; reload?: string },
    timeoutMs: number,
  ): Promise<HostedReply | undefined> {
    const client = await this.#client;
    const refused = this.#refused();
    const body = { op: 'hosted', ...about, ...(refused.length > 0 && { refused }) };
    const options = { timeoutMs, ephemeral: true, signal: this.#stop.signal };
    const outcome = await client.request(hostAgent(this.#label), 'mcp_request', body, options);
    return outcome.status === 'completed' ? readData(outcome.reply.json, hostedReplySchema) : undefined;
  }

  #heard({ servers, ends }: HostedReply, askedAt: number): void {
    this.#isUnderstood = true;
    this.#heardAt = Math.max(this.#heardAt, askedAt);
    if (ends && !ends.successor) {
      this.#left(askedAt, { inOrder: true });
      return;
    }
    if (!this.#found) this.#deps.log({ event: 'host_there', host: this.#label });
    this.#found = new Map(servers.map((one) => [one.server, one]));
    this.#awaySince = undefined;
    this.#hasEnded = false;
    this.#wasSeen = true;
    this.#logRefused();
    if (!ends) void this.#awaitEnd();
    for (const [server, uses] of this.#open) {
      const problem = this.#problemOf(server);
      const version = this.#found.get(server)?.version;
      for (const use of uses) {
        if (problem !== undefined) use.lose(problem);
        else if (use.version !== version) use.onListsChanged();
        use.version = version;
      }
    }
  }

  #logRefused(): void {
    const refused = this.#refused();
    const names = refused.join(', ');
    if (names === this.#toldRefused) return;
    this.#toldRefused = names;
    for (const message of hostProblems({ host: this.#label, servers: [], refused }))
      this.#deps.log({ event: 'host_servers_refused', host: this.#label, message });
  }

  #missed(askedAt: number): void {
    if (askedAt <= this.#heardAt || this.#deps.now() - this.#connectedAt < graceMs) return;
    this.#left(askedAt, { inOrder: false });
  }

  #left(since: number, { inOrder }: { inOrder: boolean }): void {
    if (!this.#found) return;
    this.#hasEnded = inOrder;
    this.#awaySince = since;
    this.#found = undefined;
    this.#deps.log({ event: 'host_away', host: this.#label });
    for (const [server, uses] of this.#open) for (const use of uses) use.lose(this.#problemOf(server)!);
  }

  async #page(
    client: BrokerClient,
    query: Extract<McpRequest, { op: 'hosted_list' }>,
    options: { timeoutMs: number; signal: AbortSignal },
  ): Promise<HostedListReply> {
    const outcome = await client.request(hostAgent(this.#label), 'mcp_request', query, {
      ...options,
      ephemeral: true,
    });
    if (outcome.status === 'completed') return readData(outcome.reply.json, hostedListReplySchema);
    throw new SignalboxError('server_failed', `host '${this.#label}' did not answer (${outcome.status})`);
  }

  async #send(
    client: BrokerClient,
    asked: RemoteRequest & { server: string },
    request: ToolRequest,
    onReport: (report: Record<string, unknown>) => void,
  ): Promise<ServerAnswer> {
    const { timeoutMs, signal, meta } = request;
    const longestMs = client.welcome.limits.message?.ttlMs ?? Number.POSITIVE_INFINITY;
    const traceparent = meta?.traceparent;
    const body = hostedBody(asked, request);
    // It may have ended since the connection was taken.
    if (!this.#found) return { failure: { kind: 'not_sent', reason: this.#problemOf(asked.server)! } };
    const { promise: handedOut, resolve: onReceipt } = Promise.withResolvers<void>();
    this.#leaving.add(handedOut);
    const sent = client.request(hostAgent(this.#label), 'mcp_request', body, {
      onReceipt: () => onReceipt(),
      timeoutMs: Math.max(1, Math.min(timeoutMs, longestMs)),
      signal,
      waitsForRate: true,
      ...(body.op === 'call' && {
        onLane: (epoch) => (epoch === undefined ? body : { ...body, maybe_started_in: epoch }),
      }),
      ...(typeof traceparent === 'string' && { traceparent }),
      onProgress: (body) => {
        if (isJsonObject(body)) onReport(body);
      },
    });
    // A request that is too large, for one, is refused.
    const outcome = await sent.finally(() => {
      onReceipt();
      this.#leaving.delete(handedOut);
    });
    const away = this.#awaySince === undefined ? '' : `; ${this.#awayText()}`;
    return answerOfOutcome(outcome, { server: asked.server, host: this.#label, away });
  }

  #awayText(): string {
    return `host '${this.#label}' has been away since ${new Date(this.#awaySince!).toISOString()}`;
  }
}

/** Reads the data of a reply. Throws a `SignalboxError` for an error or for data of another form. */
function readData<Data>(
  json: unknown,
  schema: { safeParse: (data: unknown) => { success: true; data: Data } | { success: false } },
): Data {
  const { data, error } = (isJsonObject(json) ? json : {}) as {
    data?: unknown;
    error?: { message?: unknown };
  };
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  const why = typeof error?.message === 'string' ? error.message : 'its answer cannot be read';
  throw new SignalboxError('server_failed', why);
}

function labelOf(agent: string): string {
  return agent.slice(agent.indexOf('.') + 1);
}
