import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { z } from 'zod';
import { type Session, withSession } from '../broker-connection/client-session.ts';
import type { ConnectionFlags } from '../broker-connection/connection.ts';
import { formatDuration } from '../terminal/duration.ts';
import { printJson, printLines, tableLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';

export interface TokenFlags extends ConnectionFlags {
  json?: boolean;
}

/** `agent` is whom the token is for, not who asks. */
export interface TokenIssueFlags extends Omit<TokenFlags, 'agent'> {
  agent: string;
  role: string;
  ttl?: number;
  out?: string;
  force?: boolean;
}

const issuedSchema = z.object({
  id: z.string(),
  agent: z.string(),
  role: z.string(),
  expires_at: z.number().nullish(),
  token: z.string(),
});
type Issued = z.infer<typeof issuedSchema>;

const listedSchema = z.object({
  tokens: z.array(
    z.object({
      id: z.string(),
      agent: z.string(),
      role: z.string(),
      permissions: z.array(z.string()),
      created_at: z.number(),
      expires_at: z.number().nullish(),
      parent_id: z.string().nullish(),
    }),
  ),
});

/** Issues a token and prints it, or writes it to a file of its own. */
export async function issueToken({
  agent,
  role,
  ttl,
  out,
  force,
  json,
  ...rest
}: TokenIssueFlags): Promise<void> {
  if (out !== undefined && !force && existsSync(out)) throw alreadyThere(out);
  const issued = await withSession(rest, async (session) => {
    const params = { agent, role, ...(ttl !== undefined && { ttl_ms: ttl }) };
    const token = issuedSchema.parse(await session.client.admin('token_issue', params));
    if (out !== undefined) await writeOrRevoke(session, token, out, force === true);
    return token;
  });
  const expiresAt = issued.expires_at ?? null;
  if (json) {
    const secret = out === undefined ? { token: issued.token } : { file: out };
    return printJson({ id: issued.id, agent: issued.agent, role: issued.role, expiresAt, ...secret });
  }
  printIssued(issued, out);
}

/** Lists what tokens there are; their secrets are not kept anywhere. */
export async function listTokens(flags: TokenFlags): Promise<void> {
  const { tokens } = await withSession(flags, async ({ client }) =>
    listedSchema.parse(await client.admin('token_list', {})),
  );
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
  const rows = tokens.map(({ id, agent, role, permissions, created_at, expires_at }) => [
    id,
    agent,
    role,
    permissions.join(', ') || '-',
    `${formatDuration(Date.now() - created_at)} ago`,
    expires_at == null ? 'never' : `in ${formatDuration(expires_at - Date.now())}`,
  ]);
  printLines(...tableLines(['ID', 'AGENT', 'ROLE', 'PERMISSIONS', 'ISSUED', 'EXPIRES'], rows));
}

/** Revokes a token by its id. */
export async function revokeToken(id: string, flags: TokenFlags): Promise<void> {
  await withSession(flags, ({ client }) => client.admin('token_revoke', { id }));
  if (flags.json) return printJson({ id, revoked: true });
  printLines(`token ${id} is revoked; who was connected with it is cut off.`);
}

/** A token that could not be written down is of no use to anybody. */
async function writeOrRevoke(
  { client }: Session,
  issued: Issued,
  out: string,
  force: boolean,
): Promise<void> {
  try {
    await writeTokenFile(out, issued.token, force);
  } catch (cause) {
    await client.admin('token_revoke', { id: issued.id });
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') throw alreadyThere(out);
    throw new SignalboxError('usage', `the token could not be written to ${out}: ${messageOf(cause)}`, {
      cause,
    });
  }
}

async function writeTokenFile(file: string, token: string, replace: boolean): Promise<void> {
  const options = { mode: 0o600, flag: 'wx' };
  if (!replace) return writeFile(file, `${token}\n`, options);
  const beside = `${file}.${process.pid}.new`;
  await writeFile(beside, `${token}\n`, options);
  try {
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

function alreadyThere(out: string): SignalboxError {
  return new SignalboxError('usage', `${out} exists already`, {
    details: { hint: 'choose another file, or replace it with --force' },
  });
}

function printIssued({ id, agent, role, expires_at, token }: Issued, out: string | undefined): void {
  const life = expires_at == null ? 'until it is revoked' : `for ${formatDuration(expires_at - Date.now())}`;
  const file = out === undefined ? 'FILE' : shellWords(out);
  const minting = agent.endsWith('*');
  printLines(
    `token ${id} for ${minting ? `any agent named ${agent}` : `agent ${agent}`} in role ${role}, valid ${life}`,
    out === undefined ? `  ${token}` : `  written to ${out}`,
    ...(out === undefined
      ? ['', 'It is not shown again: keep it in a file that only its user can read.']
      : []),
    '',
    'Next:',
    minting
      ? `  signalbox token issue --agent ${agent.replace('*', '1')} --role ${role} --token-file ${file}`
      : `  signalbox tools list --token-file ${file}`,
  );
}
