import { readFile, rename, writeFile } from 'node:fs/promises';
import type { BrokerClient } from '@signalbox/client';
import type { WaitingMessage } from '@signalbox/worker/mail-hint';

const maxMessages = 1000;

/** The mail in an inbox that nobody works on. `upTo` is the highest sequence number that was looked at; 0 if there was none. */
export interface FoundMail {
  messages: WaitingMessage[];
  upTo: number;
}

/** Looks for messages after a sequence number, without taking them and without their bodies. A message that was read is left out. */
export async function findMail(client: BrokerClient, address: string, after: number): Promise<FoundMail> {
  const peeked = await client.peek({ address, after, limit: maxMessages, bodies: false });
  return {
    messages: peeked
      .filter(({ working }) => working !== true)
      .map(({ id, from }) => ({ id, from: from.agent })),
    upTo: peeked.at(-1)?.seq ?? 0,
  };
}

/** Reads the sequence number up to which mail was told. Returns 0 if there is no file, or another text in it. */
export async function readMark(file: string): Promise<number> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const seq = /^\d{1,16}\n$/.test(text) ? Number(text) : 0;
  return Number.isSafeInteger(seq) ? seq : 0;
}

/** Writes the mark, whole or not at all. Rejects if it cannot be written: then nothing may be told, or it would be told again. */
export async function writeMark(file: string, seq: number): Promise<void> {
  const next = `${file}.${process.pid}`;
  await writeFile(next, `${seq}\n`, { mode: 0o600 });
  await rename(next, file);
}
