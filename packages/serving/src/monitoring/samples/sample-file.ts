import { appendFile, readFile, rename, stat } from 'node:fs/promises';
import { messageOf } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { writeWhole } from '../../whole-files/index.ts';
import { type Every, keptSamples, LineRing, sampleOf } from './sample-lines.ts';

/** The bytes that the file may have beyond twice those of the lines that are kept, before it is written anew. */
const slackBytes = 1024 * 1024;
/** The most bytes of a file that this program has written. A longer one is not read. */
const mostBytes = 2 * (keptSamples.second.bytes + keptSamples.minute.bytes) + 2 * slackBytes;

/** The lines of both sorts, the newest ones. */
export type Rings = Readonly<Record<Every, LineRing>>;

/** Makes rings without lines. */
export function newRings(): Rings {
  return { second: new LineRing(keptSamples.second), minute: new LineRing(keptSamples.minute) };
}

/**
 * The file in which lines survive their process. They are appended, and the whole is written anew when it has grown long. What was not
 * written when the process was killed is lost; a line that was cut off then is left out.
 */
export class SampleFile {
  readonly #path: string;
  /** The first line: a file with another one was written by another version. */
  readonly #head: string;
  readonly #warn: (event: string, message: string) => void;
  #bytes = Number.POSITIVE_INFINITY;
  #hasFailed = false;

  /** `head` describes what the lines hold. `warn` is told of a file that can't be used. */
  constructor(path: string, head: string, warn: (event: string, message: string) => void) {
    this.#path = path;
    this.#head = head;
    this.#warn = warn;
  }

  /** Reads the lines that are there into the rings. A file with anything else in it is set aside with a warning; never rejects. */
  async readInto(rings: Rings): Promise<void> {
    let text: string;
    try {
      const { size } = await stat(this.#path);
      if (size > mostBytes) return await this.#setAside(`it has ${size} bytes, which is too long`);
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') this.#bytes = 0;
      else await this.#setAside(messageOf(error));
      return;
    }
    const [head, ...lines] = text.split('\n');
    // The part behind the last end of a line: nothing, or a line that was cut off.
    const isWhole = lines.pop() === '';
    if (head !== this.#head) return await this.#setAside('it has samples of another version');
    let wrong = 0;
    for (const line of lines) {
      try {
        rings[sampleOf(line).every].push(line);
      } catch {
        wrong++;
      }
    }
    if (wrong > 0) {
      await this.#setAside(`${wrong} of its ${lines.length} lines can't be read`);
      await this.write([], rings);
    } else if (isWhole) this.#bytes = text.length;
  }

  /** Writes new lines, which are in the rings already. Never rejects: what can't be written now is written later, while it is kept. */
  async write(newLines: readonly string[], rings: Rings): Promise<void> {
    const added = [...(this.#bytes === 0 ? [this.#head] : []), ...newLines, ''].join('\n');
    const kept = rings.second.bytes + rings.minute.bytes;
    try {
      if (this.#bytes + added.length > 2 * kept + slackBytes) {
        const lines = [this.#head, ...rings.minute.lines, ...rings.second.lines];
        const text = `${lines.join('\n')}\n`;
        await writeWhole(this.#path, text);
        this.#bytes = text.length;
      } else {
        await appendFile(this.#path, added, { mode: 0o600 });
        this.#bytes += added.length;
      }
      this.#hasFailed = false;
    } catch (error) {
      this.#bytes = Number.POSITIVE_INFINITY;
      if (!this.#hasFailed) this.#warn('samples_not_written', `${this.#path}: ${messageOf(error)}`);
      this.#hasFailed = true;
    }
  }

  async #setAside(reason: string): Promise<void> {
    const aside = `${this.#path}.damaged`;
    const moved = await rename(this.#path, aside).then(
      () => `it is kept as ${aside}`,
      (error: unknown) => `it could not be moved: ${messageOf(error)}`,
    );
    this.#warn(
      'samples_damaged',
      `${this.#path} can't be used, so older figures are missing: ${reason}; ${moved}`,
    );
  }
}
