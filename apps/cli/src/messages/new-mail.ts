import { readFile, stat } from 'node:fs/promises';
import type { BrokerClient } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { writeWhole } from '@signalbox/serving/whole-files';
import type { WaitingMessage } from '@signalbox/worker/mail-hint';

const maxMessages = 1000;

/** A place in the messages of a broker. A broker that was restored from a backup has another id, and may use numbers again. */
export interface Mark {
  brokerId: string;
  seq: number;
}

/** The mail in an inbox that nobody works on. `upTo` has the highest sequence number that was looked at; 0 if there was none. */
export interface FoundMail {
  messages: WaitingMessage[];
  upTo: Mark;
}

/**
 * Looks for messages after a mark, or for all if it is of another broker, without taking them and without their bodies. A message that
 * was read is left out.
 */
export async function findMail(
  client: BrokerClient,
  address: string,
  mark: Mark | undefined,
): Promise<FoundMail> {
  for (;;) {
    const { broker_id: brokerId } = client.welcome;
    const after = mark?.brokerId === brokerId ? mark.seq : 0;
    const peeked = await client.peek({ address, after, limit: maxMessages, bodies: false });
    // Without a connection the look waits for the next one, which may lead to another broker.
    if (client.welcome.broker_id !== brokerId) continue;
    const messages = peeked
      .filter(({ working }) => working !== true)
      .map(({ id, from }) => ({ id, from: from.agent }));
    return { messages, upTo: { brokerId, seq: peeked.at(-1)?.seq ?? 0 } };
  }
}

/**
 * Reads up to where mail was told. Returns `undefined` if there is no file, or another text in it. Throws `usage` for anything but a
 * file: a pipe would be waited for without end.
 */
export async function readMark(file: string): Promise<Mark | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (found && !found.isFile()) {
    throw new SignalboxError('usage', `--mark: ${file} is no regular file`, {
      details: { hint: 'name a file, or a path where there is none yet' },
    });
  }
  const text = await readFile(file, 'utf8').catch(() => '');
  const [, brokerId = '', digits] = /^([!-~]{1,256}) (\d{1,16})\n$/.exec(text) ?? [];
  const seq = Number(digits);
  return Number.isSafeInteger(seq) ? { brokerId, seq } : undefined;
}

/** Writes the mark, whole or not at all. Rejects if it cannot be written: then nothing may be told, or it would be told again. */
export async function writeMark(file: string, { brokerId, seq }: Mark): Promise<void> {
  await writeWhole(file, `${brokerId} ${seq}\n`);
}
