import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeWhole } from '@signalbox/serving/whole-files';
import { z } from 'zod';
import { sessionIdSchema } from './program/told-session.ts';

/** The most threads that are remembered for one agent. Those that had no turn for the longest time are forgotten first. */
export const maxThreads = 1000;
/** The most threads whose denials are remembered, the most denials of one, and the longest of them in characters. */
const maxDeniedThreads = 50;
const maxDenials = 8;
const maxDenialLength = 500;
/** The largest file that is read, in bytes. A file with all threads and denials has less, however they are escaped. */
const maxFileBytes = 2 * 1024 * 1024;

const fileSchema = z.object({
  sessions: z
    .array(
      z.object({
        thread: z.string(),
        session: sessionIdSchema.optional(),
        denials: z.array(z.string().max(maxDenialLength)).max(maxDenials).optional(),
      }),
    )
    .max(maxThreads),
});

type Entry = z.infer<typeof fileSchema>['sessions'][number];

/** The session of a thread, and the reasons with which its last turn was denied uses of tools. */
export interface ThreadMemory {
  session: string | undefined;
  denials: readonly string[];
}

/** The sessions of an agent's program by thread, in a file that outlives this process. */
export interface ThreadSessions {
  get(thread: string): ThreadMemory;
  /** Remembers a thread, or forgets it if there is nothing to remember. Resolves when the file is written. Rejects if it can't be. */
  set(thread: string, memory: ThreadMemory): Promise<void>;
}

/**
 * Reads the sessions from a file, if it is there and readable. It is for one program in one working directory: others can't resume them.
 */
export async function openThreadSessions(path: string): Promise<ThreadSessions> {
  let entries = await readEntries(path);
  let writing = Promise.resolve();
  const find = (thread: string): Entry | undefined => entries.find((entry) => entry.thread === thread);
  return {
    get(thread) {
      const { session, denials = [] } = find(thread) ?? {};
      return { session, denials };
    },
    set(thread, { session, denials }) {
      const known = find(thread);
      const usable = sessionIdSchema.safeParse(session).data;
      const others = entries.filter((entry) => entry !== known);
      const kept = denials.slice(0, maxDenials).map((text) => text.slice(0, maxDenialLength));
      const added = {
        thread,
        ...(usable !== undefined && { session: usable }),
        ...(kept.length > 0 && { denials: kept }),
      };
      const isEmpty = usable === undefined && kept.length === 0;
      entries = withFewDenials(isEmpty ? others : [...others, added]).slice(-maxThreads);
      writing = writing
        .catch(() => {})
        .then(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
        .then(() => writeWhole(path, `${JSON.stringify({ sessions: entries })}\n`));
      return writing;
    },
  };
}

/** Forgets the denials of the thread that had no turn for the longest time, if too many threads have some. */
function withFewDenials(entries: Entry[]): Entry[] {
  const denied = entries.filter(({ denials }) => denials);
  const [oldest] = denied;
  if (denied.length <= maxDeniedThreads || !oldest) return entries;
  const { denials: _forgotten, ...rest } = oldest;
  return entries.flatMap((entry) => {
    if (entry !== oldest) return entry;
    return rest.session === undefined ? [] : rest;
  });
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
