import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { SignalboxError } from '@signalbox/protocol';
import { writeWhole } from '@signalbox/serving/whole-files';
import { operatorToken } from '../data-directory/data-directory.ts';

/** Codes with which a broker refuses a token that is revoked, expired, or for an orchestrator of another name. */
const refusals = ['unauthorized', 'forged_sender'];

/**
 * The longest wait for the broker's welcome, in milliseconds. If nobody listens the connection fails at once. A broker that listens may
 * be slow, as on a machine that starts many processes.
 */
const patientConnectMs = 60_000;

/** The place of the token, its broker, and the agent id of the orchestrator. */
export interface OrchestratorTokenOptions {
  dataDir: string;
  url: string;
  insecure: boolean;
  /** The certificates of the only authorities to trust for `wss://`, as PEM text. */
  ca: string | undefined;
  agent: string;
  role: string;
  /** The file in which it is kept. */
  file: string;
}

/**
 * Returns the orchestrator's token of a data directory: the one in `orchestrator.token` while the broker accepts it, else a
 * new one, which is issued with the operator's token and written there (0600).
 */
export async function ensureOrchestratorToken(options: OrchestratorTokenOptions): Promise<string> {
  const { dataDir, url, insecure, ca, agent, role, file } = options;
  const existing = readIfPresent(file);
  if (existing !== undefined && (await isAccepted(existing, options))) return existing;
  await using operator = await connectOperator({ dataDir, url, insecure, ca });
  const { token } = await issueToken(operator, { agent, role });
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeWhole(file, `${token}\n`);
  return token;
}

/** Connects with the operator's token of a data directory. */
export function connectOperator({
  dataDir,
  url,
  insecure,
  ca,
}: Omit<OrchestratorTokenOptions, 'agent' | 'role' | 'file'>): Promise<BrokerClient> {
  return connectBroker({
    url,
    insecure,
    ...(ca !== undefined && { ca }),
    token: operatorToken(dataDir, url),
    agent: requestAddress('operator'),
    connectTimeoutMs: patientConnectMs,
  });
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

async function isAccepted(
  token: string,
  { url, insecure, ca, agent }: OrchestratorTokenOptions,
): Promise<boolean> {
  try {
    await using _client = await connectBroker({
      url,
      insecure,
      ...(ca !== undefined && { ca }),
      token,
      agent: requestAddress(agent),
      connectTimeoutMs: patientConnectMs,
    });
    return true;
  } catch (error) {
    if (error instanceof SignalboxError && refusals.includes(error.code)) return false;
    throw error;
  }
}
