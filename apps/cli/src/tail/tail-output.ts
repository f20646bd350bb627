import type { TailEvent } from '@signalbox/client/operator';
import { printJson, printLines } from '../terminal/output.ts';
import { eventLine } from './event-line.ts';
import type { TextEvent } from './text-feed.ts';

/** The largest number of bytes that may wait for the reader of standard output; further events are only counted. */
const maxWaitingBytes = 4 * 1024 * 1024;

/** Writes events to standard output, one on each line. A slow reader misses some and is told how many. */
export class TailOutput {
  readonly #asJson: boolean;
  #missed = 0;

  constructor(asJson: boolean) {
    this.#asJson = asJson;
  }

  show(event: TailEvent | TextEvent): void {
    if (process.stdout.writableLength > maxWaitingBytes) {
      this.#missed++;
      return;
    }
    const missed = this.#missed;
    this.#missed = 0;
    if (missed > 0) this.#write({ what: 'missed', at: event.at, missed });
    this.#write(event);
  }

  #write(event: TailEvent | TextEvent): void {
    if (this.#asJson) printJson(event);
    else printLines(eventLine(event));
  }
}
