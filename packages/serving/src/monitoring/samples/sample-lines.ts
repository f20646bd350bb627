import type { Sample } from './sample.ts';

/** The resolutions of samples. */
export type Every = 'second' | 'minute';

/** How many samples of each sort are kept: those of ten minutes, and those of a day; and the bytes of their lines. */
export const keptSamples = {
  second: { count: 600, bytes: 2 * 1024 * 1024 },
  minute: { count: 1440, bytes: 8 * 1024 * 1024 },
} as const satisfies Record<Every, { count: number; bytes: number }>;

/** Writes a sample as the line that memory and file hold, in ASCII: its length is its bytes in both. */
export function lineOf(every: Every, { at, ms, figures }: Sample): string {
  return JSON.stringify([every, at, ms, figures]).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Reads such a line. Throws if it is none. */
export function sampleOf(line: string): { every: Every } & Sample {
  const read: unknown = JSON.parse(line);
  if (!Array.isArray(read) || read.length !== 4) throw new Error('no sample');
  const [every, at, ms, figures] = read as unknown[];
  if (every !== 'second' && every !== 'minute') throw new Error('no sample of a second or a minute');
  if (!isCount(at) || !isCount(ms) || typeof figures !== 'object' || figures === null)
    throw new Error('no sample with a time');
  for (const values of Object.values(figures))
    if (!Array.isArray(values) || !values.every(isValue)) throw new Error('no values');
  return { every, at, ms, figures: figures as Sample['figures'] };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isValue(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [labels, figure, sum] = value as unknown[];
  if (!Array.isArray(labels) || !labels.every((label) => typeof label === 'string')) return false;
  if (Array.isArray(figure)) return figure.every(isCount) && typeof sum === 'number';
  return typeof figure === 'number';
}

/** The newest lines of one sort. The oldest ones leave when there are too many, or when they are too long together. */
export class LineRing {
  readonly #most: { readonly count: number; readonly bytes: number };
  readonly #lines: string[] = [];
  #bytes = 0;

  constructor(most: { count: number; bytes: number }) {
    this.#most = most;
  }

  /** The lines, the oldest first. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(line: string): void {
    this.#lines.push(line);
    this.#bytes += line.length + 1;
    while (this.#lines.length > this.#most.count || this.#bytes > this.#most.bytes)
      this.#bytes -= this.#lines.shift()!.length + 1;
  }
}
