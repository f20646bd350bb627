import { isDeepStrictEqual } from 'node:util';
import { nothingOffered, type OfferList, type ReadOffers } from '../inventory/offer-list.ts';

/** Holds what a server offers beside tools: of each list the last good one. */
export class ServerOffers {
  #list: OfferList = nothingOffered();

  /** What is offered; empty while nothing is known. */
  get current(): OfferList {
    return this.#list;
  }

  /** Takes lists that were read. Those that could not be read stay. Returns false if nothing has changed. */
  take({ unread, ...read }: ReadOffers): boolean {
    const list: OfferList = { ...read };
    if (unread.includes('prompts')) list.prompts = this.#list.prompts;
    if (unread.includes('resources')) list.resources = this.#list.resources;
    if (unread.includes('templates')) list.templates = this.#list.templates;
    if (isDeepStrictEqual(list, this.#list)) return false;
    this.#list = list;
    return true;
  }
}
