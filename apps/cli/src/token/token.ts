import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { BrokerClient } from '@signalbox/client';
import {
  type IssuedToken,
  issueToken,
  type ListedToken,
  listTokens,
  revokeAgentTokens,
  revokeToken,
} from '@signalbox/client/operator';
import { isRenewedByHand } from '@signalbox/client/operator/internal';
import { roleWarning } from '@signalbox/daemon/config/internal';
import { hostRole, messageOf, SignalboxError, tokenFileText } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { errnoOf } from '@signalbox/protocol/internal';
import { endsSoon, renewalCommand } from '@signalbox/serving';
import { writeWhole } from '@signalbox/serving/whole-files';
import { configOptions } from '../config/config-options.ts';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { count, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { hostWarnings, listedRoles, reachableWarnings, strandedTokens } from './listed-roles.ts';
import { expiryText, expiryWarning, replacing } from './token-expiry.ts';
import { type HolderFlags, holderOf } from './token-holder.ts';

/** The options of `signalbox token list`. */
export interface TokenFlags extends ConnectionFlags {
  json?: boolean;
}

/** The options of `signalbox token revoke`. `agent` is the agent whose tokens end, not the one that asks. */
export interface TokenRevokeFlags extends TokenFlags {
  agent?: string;
}

/**
 * The options of `signalbox token issue`. `agent` is the agent that the token is for, not the one that asks; `expires` is in milliseconds,
 * `never` for no end.
 */
export interface TokenIssueFlags extends Omit<TokenFlags, 'agent'>, HolderFlags {
  expires?: number | 'never';
  out?: string;
  force?: boolean;
}

/** Issues a token and prints it, or writes it to a file of its own. */
export async function runTokenIssue(flags: TokenIssueFlags): Promise<void> {
  const { agent: _, expires, out, force = false, json, ...connectionFlags } = flags;
  const { agent, role, roles: given, approves, readsBodies } = holderOf(flags);
  const ttlMs = expires === 'never' ? null : expires;
  const replaced = out !== undefined && existsSync(out) ? out : undefined;
  if (out !== undefined) checkFree(out, force);
  const { issued, warnings } = await withClient(connectionFlags, async ({ client, connection: { url } }) => {
    const roles = await listedRoles(flags, url);
    // A token that decides on calls needs no tools.
    const named = approves === undefined ? (given ?? [role]) : [];
    const unlisted = roles ? named.flatMap((one) => roleWarning(one, roles) ?? []) : [];
    const token = await issueToken(client, { agent, role, roles: given, approves, readsBodies, ttlMs });
    try {
      if (out !== undefined) await saveToken(out, tokenFileText({ token: token.token, url }), force);
    } catch (error) {
      // Nobody can use a token that was not written down.
      await revokeToken(client, token.id);
      throw error;
    }
    const reachable = out === undefined ? [] : await reachableWarnings(out, flags, url);
    const unplaced = flags.host === undefined ? [] : await hostWarnings(flags.host, flags, url);
    const others = replaced === undefined ? [] : await othersWarnings(client, token, replaced);
    return { issued: token, warnings: [...unlisted, ...unplaced, ...reachable, ...others] };
  });
  const committable = out === undefined ? undefined : await committableWarning(out);
  if (committable !== undefined) warnings.push(committable);
  if (!json) {
    printLines(...issuedLines(issued, flags));
    for (const warning of warnings) printNotes(`signalbox: ${warning}`);
    return;
  }
  const { id, expires_at = null, token } = issued;
  const secret = out === undefined ? { token } : { file: out };
  const minted = {
    ...(issued.roles && { roles: issued.roles }),
    ...(issued.approves && { approves: issued.approves }),
  };
  printJson({
    id,
    agent: issued.agent,
    role: issued.role,
    ...minted,
    expires_at,
    ...secret,
    warnings,
  });
}

/** Lists the tokens, and says which of them have to be renewed; their secrets are not kept anywhere. */
export async function runTokenList(flags: TokenFlags): Promise<void> {
  const { tokens, warnings } = await withClient(flags, async (connected) => {
    const tokens = await listTokens(connected.client);
    const orchestrator = await connected.connection.orchestrator();
    return { tokens, warnings: await strandedTokens(connected, flags, { tokens, orchestrator }) };
  });
  if (flags.json) {
    return printJson({
      tokens: tokens.map((token) => ({ ...token, expires_at: token.expires_at ?? null })),
      warnings,
    });
  }
  const now = Date.now();
  const rows = tokens.map(({ id, agent, role, roles, permissions, created_at, expires_at, damaged }) => [
    id,
    agent,
    (roles ?? [role]).join(', '),
    permissions.join(', ') || '-',
    `${formatDuration(now - created_at)} ago`,
    damaged ? 'damaged' : expiryText({ expires_at }, now),
  ]);
  const headings = ['ID', 'AGENT', 'ROLE', 'PERMISSIONS', 'ISSUED', 'EXPIRES'];
  printLines(tableLines(headings, rows), renewalLines(tokens, now));
  for (const warning of warnings) printNotes(`warning: ${warning}`);
}

/** The most tokens that one warning names. */
const namedTokens = 5;

/** Warns that the agent of a new token has others. One of them was in the file that was replaced, which ends no token. */
async function othersWarnings(
  client: BrokerClient,
  { id, agent }: IssuedToken,
  replaced: string,
): Promise<string[]> {
  const tokens = await listTokens(client).catch((error) => {
    // A minting token lists no tokens.
    if (error instanceof SignalboxError && error.code === 'forbidden') return [];
    throw error;
  });
  const others = tokens
    .filter((one) => one.agent === agent && one.id !== id && (one.expires_at ?? Infinity) > Date.now())
    .map((one) => one.id)
    .slice(-namedTokens);
  if (others.length === 0) return [];
  const commands = others.map((one) => shellWords('signalbox', 'token', 'revoke', one));
  return [
    `${agent} has other valid tokens, such as the one that ${replaced} held; end those that nothing uses: ${commands.join('; ')}`,
  ];
}

/** Returns a line for each token that ends soon or has ended, unless the agent has another one in that role. */
function renewalLines(tokens: readonly ListedToken[], now: number): string[] {
  const isLasting = (token: ListedToken): boolean => !token.damaged && !endsSoon(token, now);
  const holder = ({ agent, role }: ListedToken): string => `${agent} ${role}`;
  const supplied = new Set(tokens.filter(isLasting).map(holder));
  // A provider's tokens are replaced as a matter of course.
  const isOurs = (token: ListedToken): boolean => isRenewedByHand(token) && !token.id.startsWith('jwt:');
  const lines = tokens
    .filter((token) => !token.damaged && isOurs(token) && !supplied.has(holder(token)))
    .flatMap((token) => expiryWarning(token, now) ?? []);
  return lines.length === 0 ? [] : ['', ...new Set(lines)];
}

/** Revokes a token by its id, or all tokens of an agent. */
export async function runTokenRevoke(id: string | undefined, flags: TokenRevokeFlags): Promise<void> {
  const { agent, ...connectionFlags } = flags;
  if (id !== undefined && agent === undefined) {
    await withClient(connectionFlags, ({ client }) => revokeToken(client, id), { changes: !flags.json });
    if (flags.json) printJson({ id, revoked: true });
    else printLines(`token ${id} is revoked; connections with it are closed.`);
  } else if (id === undefined && agent !== undefined) {
    const ids = await withClient(connectionFlags, ({ client }) => revokeAgentTokens(client, agent), {
      changes: !flags.json,
    }).catch((error) => {
      if (!(error instanceof SignalboxError) || error.code !== 'unknown_token') throw error;
      throw new SignalboxError('usage', error.message, { details: error.details, cause: error });
    });
    if (flags.json) return printJson({ agent, revoked: ids });
    const issued = agent.endsWith('*') ? ', those that minting tokens issued included' : '';
    printLines(`${count(ids.length, 'token')} of ${agent} revoked${issued}: ${ids.join(', ')}`, onlyThese);
  } else {
    throw new SignalboxError(
      'usage',
      id === undefined ? 'no token is named' : 'both an id and --agent are given',
      {
        details: { hint: 'name one by its id: signalbox token revoke ID   or all of an agent: --agent NAME' },
      },
    );
  }
}

const onlyThese = 'Connections with them are closed. All other tokens are as they were.';

function issuedLines(
  { id, agent, role, roles, approves, expires_at, token }: IssuedToken,
  { out, url, config, data, insecure, caFile }: TokenIssueFlags,
): string[] {
  // The file holds the address of the broker.
  const named = out === undefined ? { url, data } : {};
  const broker = [
    ...Object.entries(named).flatMap(([option, value]) =>
      value === undefined ? [] : [`--${option}`, value],
    ),
    ...(out === undefined && config !== undefined ? configOptions(config) : []),
  ];
  const connection = shellWords(
    '--token-file',
    out ?? 'FILE',
    ...broker,
    ...(insecure ? ['--insecure'] : []),
    ...(caFile === undefined ? [] : ['--ca-file', caFile]),
  );
  const minting = agent.endsWith('*');
  return [
    `token ${id} for ${minting ? `any agent named ${agent}` : `agent ${agent}`} in role ${(roles ?? [role]).join(' or ')}`,
    ...(approves ? [`  decides on tool calls of ${approves.join(', ')}`] : []),
    out === undefined ? `  ${token}` : `  written to ${out}`,
    ...(out === undefined
      ? ['', 'It is not shown again: keep it in a file that only its user can read.']
      : []),
    ...expiryLines({ agent, role, roles, approves, expires_at }, out),
    '',
    'Next:',
    `  ${nextCommand({ agent, role, approves })} ${connection}`,
  ];
}

function expiryLines(
  token: Pick<IssuedToken, 'agent' | 'role' | 'roles' | 'approves' | 'expires_at'>,
  out?: string,
): string[] {
  const { expires_at } = token;
  if (expires_at === undefined) return ['  expires never: it is valid until it is revoked'];
  const lifetimeMs = expires_at - Date.now();
  const left = formatDuration(lifetimeMs);
  return [
    `  expires ${new Date(expires_at).toISOString()}, in ${left}; renew with: ${renewalCommand({ ...token, lifetimeMs })}${replacing(out)}`,
  ];
}

function nextCommand({ agent, role, approves }: Pick<IssuedToken, 'agent' | 'role' | 'approves'>): string {
  if (role === hostRole) return `signalbox orchestrator --host ${agent.split('.')[1]}`;
  if (approves) return 'signalbox approvals';
  if (agent.endsWith('*')) return `signalbox token issue --agent ${agent.replace('*', '1')} --role ${role}`;
  return agent.startsWith('operator.') ? 'signalbox agents' : 'signalbox tools list';
}

/** Throws `usage` if a file exists that must not be replaced. */
function checkFree(file: string, force: boolean): void {
  if (!existsSync(file)) return;
  if (!force) throw exists(file);
  if (statSync(file).isFile() && !mayBeToken(readFileSync(file, 'utf8')))
    throw new SignalboxError('usage', `${file} holds something else than a token`, {
      details: { hint: '--force replaces only a token file; choose another file, or remove this one' },
    });
}

/** Tells whether a text may be that of a token file, perhaps a broken one: at most an address and a token, each on a line of its own. */
function mayBeToken(text: string): boolean {
  const lines = text.trim().split(/\r?\n/);
  return lines.length <= 2 && !lines.some((line) => /\s/.test(line));
}

/** Writes the text of a token file (0600). With `force` an existing file is replaced. Rejects with `usage`. */
async function saveToken(file: string, text: string, force: boolean): Promise<void> {
  try {
    await writeWhole(file, text, { isNew: !force });
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') throw exists(file);
    throw new SignalboxError('usage', `the token could not be written to ${file}: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function exists(file: string): SignalboxError {
  return new SignalboxError('usage', `${file} exists already`, {
    details: { hint: 'choose another file, or replace it with --force' },
  });
}

/** Returns a warning if git could commit a new token file with the next `git add .`, with what keeps it from that. */
async function committableWarning(file: string): Promise<string | undefined> {
  if (!(await isCommittable(file))) return undefined;
  const rule = file.endsWith('.token') ? '*.token' : basename(file);
  return `git does not ignore ${file}, so a commit could publish the token: add the line ${rule} to .gitignore`;
}

/** Returns true if a file lies in a git work tree and no rule ignores it; false where git is not there or cannot tell. */
function isCommittable(file: string): Promise<boolean> {
  const path = resolve(file);
  // A repository may name a program as its file-system monitor, which nobody asked for here.
  const args = ['-C', dirname(path), '-c', 'core.fsmonitor=false', 'check-ignore', '--quiet', '--', path];
  return new Promise((settle) => {
    execFile('git', args, { timeout: 5000 }, (error) => settle(error?.code === 1));
  });
}
