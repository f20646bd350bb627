import { readFileSync } from 'node:fs';
import { createGuardedFetch } from '@signalbox/mcp-host/guarded-fetch';
import { messageOf, parseTokenFile, SignalboxError } from '@signalbox/protocol';
import { isSafeForToken, type Peer, PeerError, peerFetch } from '@signalbox/worker/internal';
import type { SetupFlags } from '../run/flags.ts';

/** The options of `signalbox worker serve` that name an agent of another system, and those that only programs have. */
export interface OutsideFlags extends SetupFlags {
  /** The address of the agent, the file with the token for it, and further origins that its card may name. */
  a2a?: string;
  a2aTokenFile?: string;
  a2aAllow: string[];
  keep?: number;
  acp?: boolean;
  check?: boolean;
  mode?: string;
}

/** An agent of another system, as the options name it. */
interface OutsideAddress {
  /** The address of its card. */
  card: URL;
  /** The origins that get requests, and the token. */
  origins: string[];
  token: (() => string) | undefined;
}

/** The largest body of an answer, in bytes. */
const maxBodyBytes = 4 * 1024 * 1024;
const cardPath = '.well-known/agent-card.json';
const tokenPattern = /^[!-~]{1,8192}$/;

function refusal(message: string, hint: string, cause?: unknown): SignalboxError {
  return new SignalboxError('usage', message, { cause, details: { hint } });
}

/** Refuses options that only an agent of another system uses, and a command line without a program. */
export function refuseOutsideOptions(
  argv: readonly string[],
  { a2aTokenFile, a2aAllow }: OutsideFlags,
): void {
  const option =
    a2aTokenFile !== undefined ? '--a2a-token-file' : a2aAllow.length > 0 ? '--a2a-allow' : undefined;
  if (option !== undefined)
    throw refusal(`${option} is for an agent of another system`, 'name its address, too: --a2a URL');
  if (argv.length === 0)
    throw refusal(
      'which program takes the turns?',
      'write its command line after --, as in: -- claude -p; or name an agent of another system with --a2a URL',
    );
}

/** Reads the options of an agent of another system. Throws `usage` for those that make no sense or expose the token. */
export function outsideAddress(
  argv: readonly string[],
  flags: OutsideFlags & { a2a: string },
): OutsideAddress {
  refuseProgramOptions(argv, flags);
  const base = URL.parse(flags.a2a);
  if (!base || !/^https?:$/.test(base.protocol) || base.username !== '' || base.password !== '')
    throw refusal(
      '--a2a needs an address with http:// or https://, and without a name or password',
      'as in: --a2a https://agents.example.com/weather/',
    );
  base.hash = '';
  const folder = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`;
  const card = base.pathname.endsWith('.json') ? base : new URL(`${folder}${cardPath}`, base.origin);
  const origins = [base.origin, ...flags.a2aAllow.map(originIn)];
  const { a2aTokenFile: file } = flags;
  if (file === undefined) return { card, origins, token: undefined };
  const open = origins.find((origin) => !isSafeForToken(origin));
  if (open !== undefined)
    throw refusal(
      `the token would go to ${open} without encryption`,
      'use https://; plain http gets a token only on this machine',
    );
  const token = (): string => tokenIn(file);
  token();
  return { card, origins, token };
}

function originIn(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && [url.origin, `${url.origin}/`].includes(text))
    return url.origin;
  throw refusal(
    `--a2a-allow: '${text}' is no origin`,
    'write scheme, host and port alone, as in https://api.example.com',
  );
}

/** Reads the token each time, because another program may renew it. */
function tokenIn(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw refusal(`--a2a-token-file: ${messageOf(cause)}`, 'name a file that holds the token', cause);
  }
  // A file that token issue wrote has the broker's address on a second line.
  const token = parseTokenFile(text)?.token;
  if (token !== undefined && tokenPattern.test(token)) return token;
  throw refusal(`--a2a-token-file: ${file} does not hold one token`, 'write the token alone, on one line');
}

function refuseProgramOptions(argv: readonly string[], flags: OutsideFlags): void {
  const given: Record<string, boolean> = {
    'a command': argv.length > 0,
    '--cwd': flags.cwd !== undefined,
    '--keep': flags.keep !== undefined,
    '--acp': flags.acp === true,
    '--check': flags.check === true,
    '--mode': flags.mode !== undefined,
    '--permissions': flags.permissions !== 'cli',
    '--tools': flags.tools !== 'all',
    '--no-inject': !flags.inject,
    '--keep-mcp': flags.keepMcp === true,
    '--dry-run': flags.dryRun === true,
  };
  const option = Object.keys(given).find((name) => given[name]);
  if (option !== undefined)
    throw refusal(
      `${option} is for a program on this machine, and --a2a names an agent elsewhere`,
      'leave one of them out',
    );
}

/** Reads the card of an agent. Rejects with `usage` if its card may not be used; an agent that is away is told to `onAway`. */
export async function openOutsideAgent(
  { card, origins, token }: OutsideAddress,
  onAway: (message: string) => void,
): Promise<{ host: string; connect: () => Promise<Peer> } & AsyncDisposable> {
  const guarded = createGuardedFetch({ allowHosts: origins.map(hostIn), maxResponseBytes: maxBodyBytes });
  const { connectPeer } = await import('@signalbox/worker/a2a-peer');
  const connect = () => connectPeer({ card, origins, fetch: peerFetch({ fetch: guarded, origins, token }) });
  try {
    await connect();
  } catch (thrown) {
    if (!(thrown instanceof PeerError) || thrown.kind === 'forbidden') {
      await guarded[Symbol.asyncDispose]();
      throw thrown instanceof PeerError
        ? refusal(thrown.message, `its card is at ${card.href}`, thrown)
        : thrown;
    }
    onAway(`its card can't be read now, and messages wait until it can: ${thrown.message}`);
  }
  return { host: card.host, connect, [Symbol.asyncDispose]: () => guarded[Symbol.asyncDispose]() };
}

/** Returns host and port of an origin. */
function hostIn(origin: string): string {
  const { hostname, port, protocol } = new URL(origin);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
}
