import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseDuration } from '@signalbox/protocol/duration';
import { type BrokerAddress, isAgentId, parseBrokerAddresses } from '@signalbox/protocol/names';
import { type FaceRefusal, runShim, type ShimOptions } from '@signalbox/worker/shim';
import type { UsedConnection } from '../connection/connected-client.ts';
import {
  type BrokerPlace,
  exposedTokenFile,
  type FoundToken,
  knownAddress,
  namedAgent,
  namedToken,
  nonEmpty,
} from '../connection/named-identity.ts';
import { firstEndSignal } from '../process/end-signals.ts';
import { returnIdleMemory } from '../process/idle-memory.ts';
import { parentEnded } from '../process/parent-ended.ts';
import { faceSocketName, isFaceExpected } from './face-socket.ts';
import { mcpDefaults } from './mcp-defaults.ts';
import { servedTurn } from './served-turn.ts';

// This module and all that it loads stay small: a machine may run a hundred of these processes.

/** The options of `signalbox worker mcp` that a shim understands. */
interface BridgeFlags {
  url?: string;
  insecure?: boolean;
  tokenFile?: string;
  agent?: string;
  orchestrator?: string;
  tools?: 'all' | 'search';
  permissions?: 'ask' | 'cli';
  waitMs: number;
  timeoutMs?: number;
}

/** The face that a shim joins, and the agent as which it does so. */
interface Bridge {
  flags: BridgeFlags;
  found: FoundToken;
  place: BrokerPlace | undefined;
  agent: string;
  /** The face's socket. */
  path: string;
}

/**
 * Joins standard input and output to the shared face of this machine, until the client hangs up. Returns false if there is none for this
 * command line, or if the command line is not for a shim: then nothing was read, and `worker mcp` serves by itself.
 */
export async function bridgeToFace(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  const bridge = bridgeOf(argv, env);
  if (!bridge) return false;
  const { flags, found, place, agent, path } = bridge;
  process.stderr.on('error', () => {
    // Nobody is left to be told.
  });
  // A collection after the start frees an eighth of the memory of a shim.
  using _memory = returnIdleMemory(() => {});
  const turn = servedTurn(env);
  const session: ShimOptions['session'] = {
    agent,
    token: found.token,
    ...(place && { url: place.url }),
    options: {
      ...(flags.orchestrator !== undefined && { orchestrator: flags.orchestrator }),
      ...(flags.tools !== undefined && { tools: flags.tools }),
      ...(flags.permissions === 'ask' && { permissions: flags.permissions }),
      ...(flags.timeoutMs !== undefined && { timeout_ms: flags.timeoutMs }),
      ...(turn && { turn }),
    },
  };
  const end = await runShim({
    path,
    session,
    renewToken: () => tokenNow(flags, env),
    startWaitMs: flags.waitMs,
    input: process.stdin,
    output: process.stdout,
    stop: Promise.race([firstEndSignal(), parentEnded()]),
    notice: (text) => notice(env, text),
    onServing: () => {
      const exposed = exposedTokenFile(found);
      if (exposed !== undefined) notice(env, exposed);
    },
  });
  if (end.end === 'not_served') return false;
  const { token, file: tokenFile } = found;
  const used = place && { ...place, token, ...(tokenFile !== undefined && { tokenFile }) };
  if (end.end === 'refused') await fail(end.refusal, used, argv);
  // The client had its time to read. Output that nobody reads would keep this process.
  if (process.stdout.writableLength > 0) process.exit();
  return true;
}

/**
 * Reads the command line. Returns `undefined` for all that is not for a shim; the whole program says what is wrong with it, if anything.
 */
function bridgeOf(argv: readonly string[], env: NodeJS.ProcessEnv): Bridge | undefined {
  try {
    const flags = flagsOf(argv);
    const found = flags && namedToken(flags, env);
    if (!found) return undefined;
    const known = knownAddress(flags, found, env);
    // The configuration that the variable names may name the broker, and only the whole program reads it.
    if (!known && nonEmpty(env.SIGNALBOX_CONFIG) !== undefined) return undefined;
    const addresses = known && parseBrokerAddresses(known.url, { insecure: flags.insecure ?? false });
    const agent = namedAgent(flags, found, env);
    const path = nonEmpty(env.SIGNALBOX_FACE) ?? faceBeside(addresses);
    if (path === undefined || !isAgentId(agent)) return undefined;
    return { flags, found, place: known, agent, path };
  } catch {
    return undefined;
  }
}

function flagsOf(argv: readonly string[]): BridgeFlags | undefined {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      url: text,
      insecure: { type: 'boolean' },
      'token-file': text,
      agent: text,
      orchestrator: text,
      tools: text,
      permissions: text,
      wait: text,
      timeout: text,
    },
  });
  const { url, insecure, 'token-file': tokenFile, agent, orchestrator, tools, permissions, timeout } = values;
  const waitMs = parseDuration(values.wait ?? mcpDefaults.wait);
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout);
  const isReadable =
    !Object.values(values).includes('') &&
    waitMs !== undefined &&
    (timeout === undefined || timeoutMs !== undefined) &&
    (tools === undefined || tools === 'all' || tools === 'search') &&
    (permissions === undefined || permissions === 'ask' || permissions === 'cli');
  if (!isReadable) return undefined;
  return {
    waitMs,
    ...(url !== undefined && { url }),
    ...(insecure !== undefined && { insecure }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(agent !== undefined && { agent }),
    ...(orchestrator !== undefined && { orchestrator }),
    ...(tools !== undefined && { tools }),
    ...(permissions !== undefined && { permissions }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}

/** Returns where the face of a broker's machine listens, or is about to. */
function faceBeside(addresses: readonly BrokerAddress[] = []): string | undefined {
  return addresses
    .flatMap(({ socketPath }) => (socketPath === undefined ? [] : join(dirname(socketPath), faceSocketName)))
    .find(isFaceExpected);
}

/** Returns the token that the options or the environment name now; `undefined` if it cannot be read. */
function tokenNow(flags: BridgeFlags, env: NodeJS.ProcessEnv): string | undefined {
  try {
    return namedToken(flags, env)?.token;
  } catch {
    return undefined;
  }
}

const quiet = new Set(['silent', 'error', 'fatal']);

/** Says something on one line of standard error. */
function notice(env: NodeJS.ProcessEnv, text: string): void {
  if (!quiet.has(env.SIGNALBOX_LOG ?? ''))
    process.stderr.write(`signalbox: ${text.replace(/\p{Cc}/gu, ' ')}\n`);
}

/** Reports a refusal as the whole program reports it, and sets the exit code. */
async function fail(
  refusal: FaceRefusal,
  place: UsedConnection | undefined,
  argv: readonly string[],
): Promise<void> {
  const { reportRefusal } = await import('./refused-bridge.ts');
  process.exitCode = await reportRefusal(refusal, place, ['worker', 'mcp', ...argv]);
}
