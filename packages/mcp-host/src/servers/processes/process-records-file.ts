import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { writeWholeNow } from '@signalbox/serving/whole-files';
import * as z from 'zod';

const processSchema = z.object({ pid: z.int().min(2), start: z.string().min(1) });

const recordSchema = processSchema.extend({
  server: z.string(),
  mark: z.uuid().optional(),
  owner: processSchema,
});

const fileSchema = z.object({ servers: z.array(recordSchema) });

/** A process of a server, the mark in its environment if it has one, and the host that started it. */
export type ProcessRecord = z.infer<typeof recordSchema>;

/**
 * Reads the records; none if there is no file. Throws `SignalboxError` `bad_process_records` for a file that can't be
 * read.
 */
export function readRecords(path: string): ProcessRecord[] {
  try {
    return fileSchema.parse(JSON.parse(readFileSync(path, 'utf8'))).servers;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    const why = error instanceof z.ZodError || error instanceof SyntaxError ? 'is damaged' : 'cannot be read';
    throw new SignalboxError('bad_process_records', `${path} ${why}`, { cause: error });
  }
}

/**
 * Replaces the whole file, which only its owner may read, before it returns: a process that is not recorded would outlive a host that is
 * killed.
 */
export function writeRecords(path: string, servers: readonly ProcessRecord[]): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeWholeNow(path, `${JSON.stringify({ servers }, undefined, 2)}\n`);
}
