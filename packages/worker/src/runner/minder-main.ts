import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Charges } from './minder-charges.ts';
import { endProcess } from './process-ending.ts';
import { restoreWorkspace } from './workspace-record.ts';

/**
 * The minder of one supervisor: it is told what there is, and when its standard input ends, by whatever death of the
 * supervisor, it ends and removes what there was. It loads nothing but its own few files.
 */
let last: Charges = { graceMs: 0, charges: [] };
const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  try {
    last = JSON.parse(line) as Charges;
  } catch {
    // The supervisor died within this line: the one before it counts.
  }
});
input.on('close', async () => {
  const { graceMs, charges } = last;
  await Promise.all(charges.map(({ process: own }) => own && endProcess(own, graceMs)));
  for (const record of charges.flatMap(({ records }) => records ?? [])) {
    await restoreWorkspace(record).catch(() => {});
  }
  for (const directory of charges.flatMap(({ directories }) => directories ?? [])) {
    await rm(directory, { recursive: true, force: true }).catch(() => {});
  }
});
