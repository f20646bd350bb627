import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeWhole } from '@signalbox/serving/whole-files';
import { z } from 'zod';
import { sessionIdSchema } from './program/told-session.ts';

/** The most threads that are remembered for one agent. Those that had no turn for the longest time are forgotten first. */
export const maxThreads = 1000;
/** The largest file that is read, in bytes. A file with all threads has less than a third of it. */
const maxFileBytes = 1024 * 1024;

const fileSchema = z.object({
  sessions: z.array(z.object({ thread: z.string(), session: sessionIdSchema })).max(maxThreads),
});

type Entry = z.infer<typeof fileSchema>['sessions'][number];

/** The sessions of an agent's program by thread, in a file that outlives this process. */
export interface ThreadSessions {
  get(thread: string): string | undefined;
  /** Remembers the session of a thread; `undefined` forgets it. Resolves when the file is written. Rejects if it can't be. */
  set(thread: string, session: string | undefined): Promise<void>;
}

/**
 * Reads the sessions from a file, if it is there and readable. It is for one program in one working directory: others can't resume them.
 */
export async function openThreadSessions(path: string): Promise<ThreadSessions> {
  let entries = await readEntries(path);
  let writing = Promise.resolve();
  const find = (thread: string): Entry | undefined => entries.find((entry) => entry.thread === thread);
  return {
    get: (thread) => find(thread)?.session,
    set(thread, session) {
      const known = find(thread);
      const usable = sessionIdSchema.safeParse(session).data;
      const others = entries.filter((entry) => entry !== known);
      const added = usable === undefined ? [] : [{ thread, session: usable }];
      entries = [...others, ...added].slice(-maxThreads);
      writing = writing
        .catch(() => {})
        .then(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
        .then(() => writeWhole(path, `${JSON.stringify({ sessions: entries })}\n`));
      return writing;
    },
  };
}

async function readEntries(path: string): Promise<Entry[]> {
  try {
    return fileSchema.parse(JSON.parse(await readRegular(path))).sessions;
  } catch {
    // No file, or a broken one: each thread begins a new session.
    return [];
  }
}

/** Reads a regular file. Opening a pipe would wait for a writer, and a device may have no end. */
async function readRegular(path: string): Promise<string> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const facts = await file.stat();
  if (!facts.isFile() || facts.size > maxFileBytes) throw new Error(`${path} is no file of sessions`);
  return await file.readFile('utf8');
}
