import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { requestAddress } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { openClient } from '../client-session.ts';
import { operatorToken } from '../connection.ts';

/**
 * The orchestrator's token in a data directory: the one in `orchestrator.token` while the broker takes it, else a
 * new one, issued with the operator's and written there (0600).
 */
export async function ensureOrchestratorToken(dataDir: string, url: string, agent: string): Promise<string> {
  const file = join(dataDir, 'orchestrator.token');
  const existing = readIfThere(file);
  if (existing !== undefined && (await isValid(existing, url, agent))) return existing;
  await using operator = await openClient(
    { url, token: operatorToken(dataDir, url) },
    requestAddress('operator'),
  );
  const issued = (await operator.admin('token_issue', { agent, role: 'orchestrator' })) as { token: string };
  await writeFile(`${file}.new`, `${issued.token}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return issued.token;
}

/** Revoked or expired; or for an orchestrator of another name. */
const refusals = ['unauthorized', 'forged_sender'];

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

async function isValid(token: string, url: string, agent: string): Promise<boolean> {
  try {
    await using _client = await openClient({ url, token }, requestAddress(agent));
    return true;
  } catch (error) {
    if (error instanceof SignalboxError && refusals.includes(error.code)) return false;
    throw error;
  }
}
