import { type IssuedToken, issueToken, listTokens, revokeToken } from '@signalbox/operator';
import { tokenFileText } from '@signalbox/protocol';
import { configOptions } from '../config/config-options.ts';
import { withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { formatDuration } from '../terminal/duration.ts';
import { printJson, printLines, tableLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { checkFree, saveToken } from './save-token.ts';
import { type HolderFlags, holderOf } from './token-holder.ts';

/** The options of `signalbox token list` and `signalbox token revoke`. */
export interface TokenFlags extends ConnectionFlags {
  json?: boolean;
}

/** The options of `signalbox token issue`. `agent` is the agent that the token is for, not the one that asks; `expires` is in milliseconds. */
export interface TokenIssueFlags extends Omit<TokenFlags, 'agent'>, HolderFlags {
  expires?: number;
  out?: string;
  force?: boolean;
}

/** Issues a token and prints it, or writes it to a file of its own. */
export async function runTokenIssue(flags: TokenIssueFlags): Promise<void> {
  const { agent: _, expires: ttlMs, out, force = false, json, ...connectionFlags } = flags;
  const { agent, role } = holderOf(flags);
  if (out !== undefined) checkFree(out, force);
  const issued = await withSession(connectionFlags, async ({ client, connection: { url } }) => {
    const token = await issueToken(client, { agent, role, ttlMs });
    try {
      if (out !== undefined) await saveToken(out, tokenFileText({ token: token.token, url }), force);
    } catch (error) {
      // Nobody can use a token that was not written down.
      await revokeToken(client, token.id);
      throw error;
    }
    return token;
  });
  if (!json) return printLines(...issuedLines(issued, flags));
  const { id, expires_at = null, token } = issued;
  const secret = out === undefined ? { token } : { file: out };
  printJson({ id, agent: issued.agent, role: issued.role, expiresAt: expires_at, ...secret });
}

/** Lists the valid tokens; their secrets are not kept anywhere. */
export async function runTokenList(flags: TokenFlags): Promise<void> {
  const tokens = await withSession(flags, ({ client }) => listTokens(client));
  if (flags.json) {
    return printJson({
      tokens: tokens.map(({ created_at, expires_at, parent_id, ...token }) => ({
        ...token,
        createdAt: created_at,
        expiresAt: expires_at ?? null,
        ...(parent_id && { parentId: parent_id }),
      })),
    });
  }
  const rows = tokens.map(({ id, agent, role, permissions, created_at, expires_at, damaged }) => [
    id,
    agent,
    role,
    permissions.join(', ') || '-',
    `${formatDuration(Date.now() - created_at)} ago`,
    damaged ? 'damaged' : expires_at == null ? 'never' : `in ${formatDuration(expires_at - Date.now())}`,
  ]);
  printLines(tableLines(['ID', 'AGENT', 'ROLE', 'PERMISSIONS', 'ISSUED', 'EXPIRES'], rows));
}

/** Revokes a token by its id. */
export async function runTokenRevoke(id: string, flags: TokenFlags): Promise<void> {
  await withSession(flags, ({ client }) => revokeToken(client, id));
  if (flags.json) return printJson({ id, revoked: true });
  printLines(`token ${id} is revoked; who was connected with it is cut off.`);
}

function issuedLines(
  { id, agent, role, expires_at, token }: IssuedToken,
  { out, url, config, data, insecure }: TokenIssueFlags,
): string[] {
  const life = expires_at == null ? 'until it is revoked' : `for ${formatDuration(expires_at - Date.now())}`;
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
  );
  const minting = agent.endsWith('*');
  return [
    `token ${id} for ${minting ? `any agent named ${agent}` : `agent ${agent}`} in role ${role}, valid ${life}`,
    out === undefined ? `  ${token}` : `  written to ${out}`,
    ...(out === undefined
      ? ['', 'It is not shown again: keep it in a file that only its user can read.']
      : []),
    '',
    'Next:',
    `  ${nextCommand(agent, role)} ${connection}`,
  ];
}

function nextCommand(agent: string, role: string): string {
  if (agent.endsWith('*')) return `signalbox token issue --agent ${agent.replace('*', '1')} --role ${role}`;
  return agent.startsWith('operator.') ? 'signalbox agents' : 'signalbox tools list';
}
