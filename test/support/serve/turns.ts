import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';

/** A script that tells its process and its token in files, and waits for the file `go`. */
export const waits = (file: string): string =>
  `cp "$SIGNALBOX_TOKEN_FILE" '${file}.token'; echo $$ > '${file}.pid'; while [ ! -e '${file}.go' ]; do sleep 0.02; done; echo done`;

export async function pidOf(file: string): Promise<number> {
  await expect.poll(() => existsSync(`${file}.pid`) && readFile(`${file}.pid`, 'utf8')).toMatch(/\d\n/);
  return Number(await readFile(`${file}.pid`, 'utf8'));
}

export function ends(events: readonly { event: string }[]): unknown[] {
  return events.filter(({ event }) => event === 'turn_ended');
}
