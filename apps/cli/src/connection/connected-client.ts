import { type BrokerClient, connectBroker, type Log, requestAddress } from '@signalbox/client';
import { readTokenFile } from '@signalbox/daemon/token-file';
import { issuerOfToken, SignalboxError } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { parseBrokerAddresses } from '@signalbox/protocol/internal';
import { ownTracing } from '../process/tracing.ts';
import { count, printNotes } from '../terminal/output.ts';
import { replacing, supplyText } from '../token/token-expiry.ts';
import {
  type AddressOrigin,
  type Connection,
  type ConnectionFlags,
  hasAgentEnvironment,
  resolveConnection,
} from './connection.ts';
import { WaitingNote } from './waiting-note.ts';

/** A connected client with the facts of its connection. */
export interface ConnectedClient {
  client: BrokerClient;
  connection: Connection;
  /** Tells what the command waits for, for as long as it uses the client. */
  waits: WaitingNote;
}

/**
 * Runs `use` with a connected client and closes it. Connects under an address of its own, so that no other
 * client of the agent loses its inbox; `as: 'agent'` takes the agent's own address, to hold its inbox or to get answers there. With
 * `changes` it says on standard error which broker was changed, as a person may have several.
 */
export async function withClient<T>(
  flags: ConnectionFlags & { json?: boolean },
  use: (connected: ConnectedClient) => Promise<T>,
  { as, changes = false }: { as?: 'request' | 'agent'; changes?: boolean } = {},
): Promise<T> {
  const connection = await resolveConnection(flags);
  const address = as === 'agent' ? connection.agent : ownAddress(connection);
  using waits = new WaitingNote(flags);
  waits.for(() => `the broker at ${connection.url} to answer`);
  await using client = await openClient(connection, address);
  waits.for(
    () =>
      `the broker at ${connection.url}${client.state.name === 'ready' ? ' to answer' : ', to which the connection is lost'}`,
  );
  try {
    const done = await use({ client, connection, waits });
    if (changes) printNotes(await changedText({ client, connection }));
    return done;
  } catch (error) {
    // A token can be revoked at any time, not only before the connection.
    throw withConnectionHint(error, connection);
  } finally {
    // The client ends its connection itself.
    waits[Symbol.dispose]();
  }
}

/** Names the broker of a connected, and tells it from others by the agents that are connected. */
async function changedText({
  client,
  connection: { dataDir, url },
}: Pick<ConnectedClient, 'client' | 'connection'>): Promise<string> {
  const connected = await client.listConnected().catch(() => undefined);
  const agents = new Set(connected?.flatMap(({ agent }) => (agent === 'operator' ? [] : [agent])));
  const few = agents.size <= 5 ? `: ${[...agents].sort().join(', ')}` : '';
  return `On the broker ${dataDir === undefined ? `at ${url}` : `of ${dataDir}`}${connected ? ` (${count(agents.size, 'agent')} connected${agents.size > 0 ? few : ''})` : ''}`;
}

/** Refuses a time for which the broker keeps no message: it would cut it. */
export function requireLifetime({ welcome }: BrokerClient, option: string, ms: number | undefined): void {
  const longest = welcome.limits.message?.ttlMs;
  if (ms === undefined || longest === undefined || ms <= longest) return;
  throw new SignalboxError(
    'usage',
    `${option}: this broker keeps messages for at most ${formatDuration(longest)}`,
    { details: { hint: 'give a shorter time, or raise broker.limits.message.ttlMs' } },
  );
}

/** Returns an address that no other client of the agent has; the agent's own where it can have no other. */
export function ownAddress({ agent, mintingPattern }: Pick<Connection, 'agent' | 'mintingPattern'>): string {
  return mintingPattern === undefined && !agent.includes('#') ? requestAddress(agent) : agent;
}

/**
 * Connects once. If no broker answers, the error names the command that starts one. When the token ends, the client goes on with the one
 * that its file holds then.
 */
export async function openClient(
  {
    url,
    from,
    insecure,
    authorities,
    token,
    tokenFile,
  }: Pick<Connection, 'url' | 'from' | 'insecure' | 'authorities' | 'token' | 'tokenFile'>,
  address: string,
  options: { backoff?: 'worker' | 'orchestrator'; waitForBroker?: boolean; signal?: AbortSignal } = {},
): Promise<BrokerClient> {
  const log = await connectionLog();
  const tracing = await ownTracing();
  try {
    return await connectBroker({
      url,
      insecure,
      ...(authorities && { ca: authorities.pem }),
      token,
      ...(tokenFile !== undefined && { renewToken: async () => readTokenFile(tokenFile).token }),
      agent: address,
      tracing,
      ...(log && { log }),
      ...options,
    });
  } catch (error) {
    throw withConnectionHint(error, { url, from, token, ...(tokenFile !== undefined && { tokenFile }) });
  }
}

/** Opens a log of the connection for debugging; otherwise no logger is loaded. */
async function connectionLog(): Promise<Log | undefined> {
  if (!['debug', 'trace'].includes(process.env.SIGNALBOX_LOG ?? '')) return undefined;
  const { logInto, openLog } = await import('../process/log.ts');
  return logInto(await openLog('client', 'warn'), 'debug');
}

/** A connection that failed; `token` is absent if it is not known here. */
export type UsedConnection = Pick<Connection, 'url' | 'from' | 'tokenFile'> & { token?: string };

/** Adds to the error of a connection what it means and what to do. Any other thrown value is returned as it is. */
export function withConnectionHint(error: unknown, place: UsedConnection): unknown {
  if (!(error instanceof SignalboxError)) return error;
  const { url } = place;
  const hint = hintOf(error.code, place);
  if (hint === undefined || error.details.hint !== undefined) return error;
  return new SignalboxError(error.code, error.message, {
    retryable: error.retryable,
    cause: error,
    details: { ...error.details, url, hint },
  });
}

function hintOf(code: string, { url, from, token, tokenFile }: UsedConnection): string | undefined {
  const issuer = token === undefined ? undefined : issuerOfToken(token);
  switch (code) {
    case 'unreachable':
      return unreachableHint(url, from);
    case 'unauthorized':
      if (issuer !== undefined) return supplyText(issuer, tokenFile);
      return `signalbox token issue puts a new token in place of this one with:${replacing(tokenFile ?? 'FILE')}`;
    case 'forbidden':
    case 'permission_denied':
      // An agent is not told how to act as somebody else.
      if (tokenFile === undefined || hasAgentEnvironment(process.env)) return undefined;
      return `the role of the token in ${tokenFile} decides that; without --token-file, commands on the broker’s machine act as the operator`;
    case 'forged_sender':
      return 'leave --agent and SIGNALBOX_AGENT out, or use the token that was issued for that agent';
    default:
      return undefined;
  }
}

function unreachableHint(url: string, { by, name }: AddressOrigin): string {
  if (namesNoPort(url)) return portHint;
  const start = 'start one with: signalbox up';
  const [address, broker] = url.includes(',')
    ? ['these addresses', 'these brokers']
    : ['this address', 'this broker'];
  switch (by) {
    case 'token file':
      return `${start}   (${name} holds ${address}; if the broker has moved, name it with --url or --config, and issue the token again)`;
    case 'configuration':
      return `${start}   (the configuration ${name} leads there; --config names another)`;
    default:
      return `${start}   (${name} names ${broker}; name another with --url or SIGNALBOX_URL)`;
  }
}

function namesNoPort(url: string): boolean {
  return parseBrokerAddresses(url, { insecure: true }).some(
    ({ url, socketPath }) => socketPath === undefined && new URL(url).port === '',
  );
}

const portHint = 'a url without a port means 80 or 443; a broker listens at 7420 by default';
