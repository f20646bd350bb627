import { IdFilter } from './id-filter.ts';
import { IdRanges } from './id-ranges.ts';

/** What is kept in memory of a page of settled messages. */
export interface Page {
  readonly number: number;
  /** When the last of its messages was settled. */
  readonly until: number;
  readonly bytes: number;
  /** The ids that it may hold. */
  readonly ids: IdRanges;
}

/** Reads the hashes of a page's ids; empty for a page that is gone. */
export type ReadHashes = (page: number) => Uint32Array;

const pagesPerBlock = 64;

/** Neighbouring pages, which share what tells whether an id may be in one of them. */
export class SettledBlock {
  readonly pages: Page[] = [];
  readonly ids = new IdRanges();
  readonly #readHashes: ReadHashes;
  /** Made when an id lies within the ranges: ids that sort by time never do, once they are new. */
  #filter: IdFilter | undefined;

  constructor(readHashes: ReadHashes) {
    this.#readHashes = readHashes;
  }

  get isFull(): boolean {
    return this.pages.length >= pagesPerBlock;
  }

  add(page: Page): void {
    this.pages.push(page);
    this.ids.include(page.ids);
    if (this.#filter) this.#addTo(this.#filter, page);
  }

  /** Pages that may hold an id of this hash, newest first. */
  *candidates(id: string, hash: number): Iterable<Page> {
    if (!this.ids.mayHold(id) || !this.#filterOfAll().mayHold(hash)) return;
    for (const page of this.pages.toReversed()) {
      if (page.ids.mayHold(id) && this.#readHashes(page.number).includes(hash)) yield page;
    }
  }

  #filterOfAll(): IdFilter {
    if (this.#filter) return this.#filter;
    this.#filter = new IdFilter();
    for (const page of this.pages) this.#addTo(this.#filter, page);
    return this.#filter;
  }

  #addTo(filter: IdFilter, { number }: Page): void {
    for (const hash of this.#readHashes(number)) filter.add(hash);
  }
}
