/** One request of a chain of redirects. */
export interface Hop {
  url: URL;
  method: string;
  headers: Headers;
  body: ArrayBuffer | null;
}

const credentialHeaders = ['authorization', 'proxy-authorization', 'cookie'];
const bodyHeaders = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'content-location',
];

/** Returns the URL to which a response redirects; `undefined` if it does not redirect, `null` if the location is not a URL. */
export function redirectTarget(status: number, location: string | null, from: URL): URL | null | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return undefined;
  return URL.parse(location, from.href);
}

/**
 * Returns the request that follows a redirect, with the method that `fetch` would use. Credentials, and the headers that
 * `secretHeaders` names, stay only if the origin is the same.
 */
export function followingHop(hop: Hop, status: number, url: URL, secretHeaders: readonly string[]): Hop {
  const headers = new Headers(hop.headers);
  headers.delete('host');
  if (url.origin !== hop.url.origin) {
    for (const name of [...credentialHeaders, ...secretHeaders]) headers.delete(name);
  }
  const becomesGet =
    (status === 303 && hop.method !== 'GET' && hop.method !== 'HEAD') ||
    ((status === 301 || status === 302) && hop.method === 'POST');
  if (!becomesGet) return { ...hop, url, headers };
  for (const name of bodyHeaders) headers.delete(name);
  return { url, method: 'GET', headers, body: null };
}
