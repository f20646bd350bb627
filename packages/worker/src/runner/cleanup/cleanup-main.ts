import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { endProcess } from '../process/process-ending.ts';
import { restoreWorkspace } from '../workspace/workspace-record.ts';
import type { CleanupList } from './cleanup-list.ts';

/**
 * The cleanup process of one supervisor. It reads lists of the processes and files that the supervisor has started and made. When its
 * standard input ends, which every death of the supervisor causes, it ends and removes everything in the newest list. It loads only its own
 * few files, so that it stays small.
 */
let newest: CleanupList = { graceMs: 0, tasks: [] };
const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  try {
    newest = JSON.parse(line) as CleanupList;
  } catch {
    // The supervisor died while it wrote this line: the line before it counts.
  }
});
input.on('close', async () => {
  const { graceMs, tasks } = newest;
  await Promise.all(tasks.map(({ process: own }) => own && endProcess(own, graceMs)));
  for (const claim of tasks.flatMap(({ claims }) => claims ?? [])) {
    await restoreWorkspace(claim).catch(() => {});
  }
  for (const directory of tasks.flatMap(({ directories }) => directories ?? [])) {
    await rm(directory, { recursive: true, force: true }).catch(() => {});
  }
});
