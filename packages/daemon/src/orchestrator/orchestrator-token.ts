import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { connectBroker, requestAddress } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { operatorToken, orchestratorFiles } from '../data-directory/data-directory.ts';

/** Codes with which a broker refuses a token that is revoked, expired, or for an orchestrator of another name. */
const refusals = ['unauthorized', 'forged_sender'];

/**
 * Returns the orchestrator's token of a data directory: the one in `orchestrator.token` while the broker accepts it, else a
 * new one, which is issued with the operator's token and written there (0600).
 */
export async function ensureOrchestratorToken(dataDir: string, url: string, agent: string): Promise<string> {
  const file = orchestratorFiles(dataDir).token;
  const existing = readIfPresent(file);
  if (existing !== undefined && (await isAccepted(existing, url, agent))) return existing;
  const token = operatorToken(dataDir, url);
  await using operator = await connectBroker({ url, token, agent: requestAddress('operator') });
  const issued = (await operator.admin('token_issue', { agent, role: 'orchestrator' })) as { token: string };
  await writeFile(`${file}.new`, `${issued.token}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return issued.token;
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

async function isAccepted(token: string, url: string, agent: string): Promise<boolean> {
  try {
    await using _client = await connectBroker({ url, token, agent: requestAddress(agent) });
    return true;
  } catch (error) {
    if (error instanceof SignalboxError && refusals.includes(error.code)) return false;
    throw error;
  }
}
