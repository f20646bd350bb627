import { writeFileSync } from 'node:fs';
import type { NewMessage } from '@signalbox/store';
import { startedAt } from './test-store.ts';

export const inboxes = ['bob', 'eve', 'bob#one'];

export function messageOf(round: number, n: number): NewMessage {
  const id = `m-${round}-${n}`;
  const times = { createdAt: startedAt + round, expiresAt: startedAt + 1e9 };
  const sender = { sender: 'ann', senderAddress: 'ann', senderRole: 'worker' };
  const body = n === 3 ? undefined : `{"text":"${`${id} `.repeat(1 + ((round * n) % 30))}"}`;
  return { inbox: inboxes[(round + n) % 3]!, id, ...sender, kind: 'note', ...times, body };
}

export function writeFiles(file: string, files: ReadonlyMap<string, Buffer>): void {
  for (const [suffix, content] of files) writeFileSync(`${file}${suffix}`, content);
}
