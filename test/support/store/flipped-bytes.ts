import { readFileSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { randomOf } from './random.ts';

/** The results of overwriting bytes, one at a time, in a copy of a database. */
export interface FlippedBytes {
  /** Each byte that was not found although the content that SQL reads differs. */
  missed: string[];
  /** The number of bytes that hold nothing that is ever read. */
  unused: number;
}

/**
 * Overwrites bytes of a database one at a time, at places that `seed` decides, and puts each back. A byte is found if `verify`
 * throws or tells a problem, and unused if `read` returns the same as before.
 */
export async function flipBytes(
  file: string,
  verify: (file: string) => { problems: string[] } | Promise<{ problems: string[] }>,
  { flips, seed, read = contentOf }: { flips: number; seed: number; read?: (file: string) => string },
): Promise<FlippedBytes> {
  const whole = readFileSync(file);
  const content = read(file);
  const random = randomOf(seed);
  const missed: string[] = [];
  let unused = 0;
  for (let flip = 0; flip < flips; flip++) {
    const place = Math.floor(random() * whole.length);
    const flipped = Buffer.from(whole);
    flipped[place]! ^= 1 + Math.floor(random() * 255);
    writeFileSync(file, flipped);
    const isFound = await Promise.resolve(file)
      .then(verify)
      .then(
        ({ problems }) => problems.length > 0,
        () => true,
      );
    if (isFound) continue;
    if (read(file) === content) unused++;
    else missed.push(`byte ${place}: ${whole[place]} became ${flipped[place]}`);
  }
  writeFileSync(file, whole);
  return { missed, unused };
}

/** Returns everything that SQL can read in a database: its tables and all their rows, without the index of words, which is made anew. */
export function contentOf(file: string): string {
  const db = new Database(file, { readonly: true });
  try {
    const schema = db.prepare<[], { type: string; name: string }>('SELECT * FROM sqlite_schema').all();
    const tables = schema.filter(({ type, name }) => type === 'table' && !name.startsWith('kept_words'));
    const rows = tables.map(({ name }) => db.prepare(`SELECT * FROM ${name}`).all());
    const version = db.pragma('user_version', { simple: true });
    return JSON.stringify([schema, rows, version]);
  } finally {
    db.close();
  }
}
