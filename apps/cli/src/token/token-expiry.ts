import { formatDuration } from '@signalbox/protocol/duration';
import { endsSoon, renewalCommand } from '@signalbox/serving';
import { shellWords } from '../terminal/shell-words.ts';

/** The agent, the role and the times of a token; times in epoch milliseconds. */
export interface TokenTimes {
  agent: string;
  role: string;
  roles?: readonly string[] | undefined;
  created_at: number;
  expires_at?: number | undefined;
  /** The identity provider that issued it, if one did. */
  issuer?: string | undefined;
}

/** Writes when a token expires, for a table. */
export function expiryText({ expires_at }: Pick<TokenTimes, 'expires_at'>, now: number): string {
  if (expires_at === undefined) return 'never';
  const left = expires_at - now;
  return left > 0 ? `in ${formatDuration(left)}` : `${formatDuration(-left)} ago`;
}

/** Says where the next token comes from if an identity provider issued this one, and where it belongs. */
export function supplyText(issuer: string, file: string | undefined): string {
  const place = file === undefined ? 'pass it in place of this one' : `put it into ${shellWords(file)}`;
  return `${issuer} issues these tokens, not signalbox: get the next one there, and ${place}`;
}

/** Returns a warning if a token ends soon or has ended, with the command that renews it. `file` is the file that holds it. */
export function expiryWarning(token: TokenTimes, now: number, file?: string): string | undefined {
  const { agent, expires_at, issuer } = token;
  if (expires_at === undefined || !endsSoon(token, now)) return undefined;
  const verb = expires_at > now ? 'expires' : 'expired';
  const at = `${expiryText(token, now)} (${new Date(expires_at).toISOString()})`;
  const renewal =
    issuer === undefined
      ? `renew it with: ${renewalCommand({ ...token, lifetimeMs: expires_at - token.created_at })}${replacing(file)}`
      : supplyText(issuer, file);
  return `the token of ${agent} ${verb} ${at}; ${renewal}`;
}

/** Returns the options that write a renewed token over the old one. */
export function replacing(file: string | undefined): string {
  return file === undefined ? '' : ` ${shellWords('--out', file, '--force')}`;
}
