import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns the directory with the built page of the dashboard: beside the bundle, or in a checkout. `undefined` if it was not built. */
export function pageDirectory(): string | undefined {
  const places = ['./ui/', '../../../dashboard/dist/'];
  return places.map((place) => fileURLToPath(new URL(place, import.meta.url))).find(existsSync);
}
