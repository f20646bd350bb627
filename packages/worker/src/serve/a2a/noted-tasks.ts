import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from '@signalbox/serving/whole-files';
import { z } from 'zod';

/** The longest id of a task or context that is noted, in characters. */
export const maxIdLength = 1024;
const id = z.string().max(maxIdLength);

/** The note of a message for an agent of another system. A note without a task says that the message is being sent. */
const taskSchema = z.object({
  /** The message and its sender. */
  id: z.string(),
  from: z.string(),
  contextId: id,
  taskId: id.optional(),
  /** The question of a task that the message answers. */
  answers: z.object({ taskId: id, mark: z.string().max(4096) }).optional(),
  /** The answer that the broker is to store. */
  answer: z.string().optional(),
});

/** A task that waits for the next message that a sender writes in a thread. */
const questionSchema = z.object({
  contextId: id,
  taskId: id,
  mark: z.string().max(4096),
});

/** The note of a message. */
export type NotedTask = z.infer<typeof taskSchema>;
/** The note of a question. */
export type NotedQuestion = z.infer<typeof questionSchema>;

/** A sender, and the thread in which it writes. */
export interface QuestionPlace {
  thread: string;
  from: string;
}

/** The most notes of one sort that are kept, and the time after which one is forgotten that nobody asked for, in milliseconds. */
const maxNotes = 2000;
const keptMs = 30 * 24 * 60 * 60_000;
/** The largest note that is read, in bytes: an answer may have 256 KiB, and JSON may escape each of them. */
const maxBytes = 2 * 1024 * 1024;

/**
 * The tasks of an agent of another system, as files that outlive this process: one for each message that is not answered, and one for each
 * question. A note is on the disk when the call that writes it resolves.
 */
export class NotedTasks {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Opens the notes in a directory, and forgets old ones. */
  static async open(directory: string, now: () => number = Date.now): Promise<NotedTasks> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const files = await readdir(directory);
    const aged = await Promise.all(
      files.map(async (name) => {
        const path = join(directory, name);
        return { path, name, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 };
      }),
    );
    for (const sort of ['task-', 'question-', '']) {
      const own = aged.filter(({ name }) =>
        sort === '' ? !/^(task|question)-\w+\.json$/.test(name) : name.startsWith(sort),
      );
      const newest = own.sort((one, other) => other.at - one.at);
      const old = newest.filter(({ at }, place) => sort === '' || place >= maxNotes || at < now() - keptMs);
      for (const { path } of old) await rm(path, { force: true, recursive: false }).catch(() => {});
    }
    return new NotedTasks(directory);
  }

  /** Returns all notes of messages. */
  async tasks(): Promise<NotedTask[]> {
    const names = (await readdir(this.#directory)).filter((name) => name.startsWith('task-'));
    const notes = await Promise.all(names.map((name) => this.#read(join(this.#directory, name), taskSchema)));
    return notes.filter((note) => note !== undefined);
  }

  async task(messageId: string): Promise<NotedTask | undefined> {
    return await this.#read(this.#taskFile(messageId), taskSchema);
  }

  async noteTask(messageId: string, note: NotedTask): Promise<void> {
    await writeWhole(this.#taskFile(messageId), JSON.stringify(note));
  }

  async forgetTask(messageId: string): Promise<void> {
    await rm(this.#taskFile(messageId), { force: true });
  }

  async question(place: QuestionPlace): Promise<NotedQuestion | undefined> {
    return await this.#read(this.#questionFile(place), questionSchema);
  }

  async noteQuestion(place: QuestionPlace, note: NotedQuestion): Promise<void> {
    await writeWhole(this.#questionFile(place), JSON.stringify(note));
  }

  async forgetQuestion(place: QuestionPlace): Promise<void> {
    await rm(this.#questionFile(place), { force: true });
  }

  #taskFile(messageId: string): string {
    return join(this.#directory, `task-${hashOf(messageId)}.json`);
  }

  #questionFile({ thread, from }: QuestionPlace): string {
    return join(this.#directory, `question-${hashOf(thread, from)}.json`);
  }

  /** Reads a note. One that is not there, or is broken, is none. */
  async #read<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
    try {
      await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const facts = await file.stat();
      if (!facts.isFile() || facts.size > maxBytes) return undefined;
      return schema.parse(JSON.parse(await file.readFile('utf8')));
    } catch {
      return undefined;
    }
  }
}

/** Returns a short hash of some words, of which a file or an id is made. */
export function hashOf(...words: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 24);
}
