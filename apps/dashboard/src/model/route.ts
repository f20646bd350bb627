import { signal } from '@preact/signals';

/** A view and its parameters, which the part of the address behind `#` holds. */
export interface Route {
  view: string;
  params: Readonly<Record<string, string>>;
}

/** Reads the part of an address behind `#`. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  return { view: path.replace(/^\//, ''), params: Object.fromEntries(new URLSearchParams(query)) };
}

/** Writes the address of a view. Parameters that are empty are left out. */
export function hrefOf(view: string, params: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(params).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const query = new URLSearchParams(given).toString();
  return `#/${view}${query === '' ? '' : `?${query}`}`;
}

export const route = signal<Route>({ view: '', params: {} });

/** Keeps the route in step with the address. */
export function followRoute(): void {
  const set = (): void => {
    route.value = parseRoute(location.hash);
  };
  addEventListener('hashchange', set);
  set();
}

/** Changes parameters of the present view, without a new entry in the history. */
export function setParams(changes: Readonly<Record<string, string | undefined>>): void {
  const { view, params } = route.value;
  history.replaceState(null, '', hrefOf(view, { ...params, ...changes }));
  route.value = parseRoute(location.hash);
}
