import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { connectBroker, requestAddress } from '@signalbox/client';
import { issueToken } from '@signalbox/operator';
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
  await using operator = await connectBroker({
    url,
    token: operatorToken(dataDir, url),
    agent: requestAddress('operator'),
  });
  const { token } = await issueToken(operator, { agent, role: 'orchestrator' });
  await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return token;
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
