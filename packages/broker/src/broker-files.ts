import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '@signalbox/protocol/internal';

/** Returns the paths of the broker's files inside its data directory. */
export function brokerFiles(dataDir: string): {
  messages: string;
  tokens: string;
  audit: string;
  facts: string;
  socket: string;
  operatorToken: string;
  samples: string;
} {
  return {
    messages: join(dataDir, 'messages.db'),
    tokens: join(dataDir, 'tokens.db'),
    audit: join(dataDir, 'audit.db'),
    facts: join(dataDir, 'broker.json'),
    socket: join(dataDir, 'broker.sock'),
    operatorToken: join(dataDir, 'operator.token'),
    samples: join(dataDir, 'samples.jsonl'),
  };
}

/** The content of `broker.json`, a file that exists while a broker runs on the data directory. `started_at` is in epoch milliseconds. */
export interface BrokerFacts {
  pid: number;
  /** The TCP address. */
  url: string;
  /** The address of the Unix socket, `unix:/path`, if there is one. */
  socket?: string;
  started_at: number;
  /** The id of the process that restarts the broker when it dies. */
  supervisor_pid?: number;
  /** The configuration that its process was started with, if there is one. */
  config?: string;
}

/** Reads a file's text without its last line break. Returns `undefined` if there is no such file. */
export async function readText(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Removes a file if it exists. */
export async function removeFile(file: string): Promise<void> {
  await rm(file, { force: true });
}
