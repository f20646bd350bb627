import { type Stats, statSync } from 'node:fs';
import { readableByOthers } from '@signalbox/daemon/config/readable-by-others';
import { readTokenFile } from '@signalbox/daemon/token-file';
import { issuerOfToken, messageOf, SignalboxError } from '@signalbox/protocol';
import { endsSoon, renewalCommand } from '@signalbox/serving';
import { openClient, ownAddress } from '../../connection/connected-client.ts';
import { resolveConnection } from '../../connection/connection.ts';
import { count } from '../../terminal/output.ts';
import { shellWords } from '../../terminal/shell-words.ts';
import { expiryText, replacing, supplyText, type TokenTimes } from '../../token/token-expiry.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';
import type { FoundToken } from '../setup.ts';

/** The most bytes of a file that can hold one token and an address. */
const maxFileBytes = 64 * 1024;

/** The state of a token: what a broker says of it, or why none was asked. */
export type TokenState =
  | { is: 'valid'; token: TokenTimes }
  | { is: 'refused'; agent?: string; issuer?: string | undefined; message: string }
  | { is: 'unreadable'; message: string }
  | { is: 'unknown' };

/** Asks a broker about a token. */
export interface TokenBroker {
  /** The address to ask where a token file names no other. */
  url: string;
  insecure: boolean;
}

/** Finds out about a token, by connecting with it if a broker is known. */
export async function tokenState(
  { file }: FoundToken,
  broker: TokenBroker | undefined,
  env: NodeJS.ProcessEnv,
): Promise<TokenState> {
  const { SIGNALBOX_TOKEN, SIGNALBOX_AGENT } = env;
  let agent: string | undefined;
  let issuer: string | undefined;
  try {
    const unusable = file === undefined ? undefined : unusableFile(file);
    if (unusable !== undefined) return { is: 'unreadable', message: unusable };
    const url = (file === undefined ? undefined : readTokenFile(file).url) ?? broker?.url;
    if (broker === undefined || url === undefined) return { is: 'unknown' };
    const flags = { url, insecure: broker.insecure, ...(file !== undefined && { tokenFile: file }) };
    const identity = file === undefined ? { SIGNALBOX_TOKEN, SIGNALBOX_AGENT } : { SIGNALBOX_AGENT };
    const connection = await resolveConnection(flags, identity, { search: false, warn: () => {} });
    agent = connection.agent;
    issuer = issuerOfToken(connection.token);
    await using client = await openClient(connection, ownAddress(connection));
    const { role, token } = client.welcome;
    return { is: 'valid', token: { agent: client.agent, role, created_at: 0, issuer, ...token } };
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    if (error.code === 'unauthorized')
      return { is: 'refused', ...(agent !== undefined && { agent }), issuer, message: messageOf(error) };
    return error.code === 'usage' ? { is: 'unreadable', message: messageOf(error) } : { is: 'unknown' };
  }
}

/** Says why a file can't be one of a token. Opening a pipe would wait for somebody to write, and take from others what they wrote. */
function unusableFile(file: string): string | undefined {
  let facts: Stats;
  try {
    facts = statSync(file);
  } catch {
    // Reading it says why it can't be read.
    return undefined;
  }
  if (!facts.isFile()) return `the token file ${file} is no regular file`;
  return facts.size > maxFileBytes ? `the token file ${file} does not hold one token` : undefined;
}

/** Judges one token. No finding if it is as it should be. `now` in epoch milliseconds. */
export function tokenFinding(found: FoundToken, state: TokenState, now: number): Finding | undefined {
  const { file, isUsed } = found;
  const name = file ?? 'SIGNALBOX_TOKEN';
  const bad = isUsed ? failed : warning;
  if (state.is === 'unreadable')
    return bad(
      state.message,
      `issue a new one: signalbox token issue --agent NAME --role ROLE${replacing(file)}`,
    );
  if (state.is === 'refused') {
    if (state.issuer !== undefined)
      return bad(
        `the broker does not accept the token in ${name}: ${state.message}`,
        supplyText(state.issuer, file),
      );
    const of = state.agent === undefined ? '' : ` of ${state.agent}`;
    return bad(
      `the broker does not accept the token${of} in ${name}: it has expired, was revoked or is another broker's`,
      `issue a new one: signalbox token issue${state.agent === undefined ? '' : ` --agent ${shellWords(state.agent)}`} --role ROLE${replacing(file)}`,
    );
  }
  if (state.is === 'valid' && endsSoon(state.token, now)) {
    return warning(
      `the token of ${state.token.agent} in ${name} expires ${expiryText(state.token, now)}`,
      state.token.issuer === undefined
        ? `renew it: ${renewalCommand({ ...state.token, lifetimeMs: state.token.expires_at && state.token.expires_at - state.token.created_at })}${replacing(file)}`
        : supplyText(state.token.issuer, file),
    );
  }
  if (file !== undefined && readableByOthers(file)) {
    return warning(
      `other users may read the token file ${file}`,
      `chmod 600 ${shellWords(file)}, and issue a new token if others use this machine`,
    );
  }
  return undefined;
}

/** Judges all tokens that are found. */
export async function tokenFindings(
  tokens: readonly FoundToken[],
  broker: TokenBroker | undefined,
  { env, now }: { env: NodeJS.ProcessEnv; now: () => number },
): Promise<Finding[]> {
  const judged = await Promise.all(
    tokens.map(async (found) => {
      const state = await tokenState(found, broker, env);
      return { state, finding: tokenFinding(found, state, now()) };
    }),
  );
  const bad = judged.flatMap(({ finding }) => finding ?? []);
  if (bad.length > 0) return bad;
  const valid = judged.filter(({ state }) => state.is === 'valid').length;
  if (tokens.length === 0) return [ok('none found here')];
  return [
    ok(
      valid === tokens.length
        ? `${count(valid, 'token')} found, accepted and not about to expire`
        : `${count(tokens.length, 'token')} found; a broker was asked about ${valid} of them`,
    ),
  ];
}
