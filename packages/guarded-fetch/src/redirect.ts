/** One request of a chain of redirects. Names of headers in `secretHeaders` are lower case. */
export interface Hop {
  url: URL;
  method: string;
  headers: Headers;
  body: ArrayBuffer | null;
}

const alwaysSecret = ['authorization', 'proxy-authorization', 'cookie'];
const ofBody = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location'];

/** Where a response sends its reader, or undefined if it is an answer. A location that is no URL is `null`. */
export function redirectTarget(status: number, location: string | null, from: URL): URL | null | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return undefined;
  return URL.parse(location, from.href);
}

/** The request to follow a redirect with: method as `fetch` has it, credentials only while the origin stays the same. */
export function followingHop(hop: Hop, status: number, url: URL, secretHeaders: readonly string[]): Hop {
  const headers = new Headers(hop.headers);
  headers.delete('host');
  if (url.origin !== hop.url.origin) {
    for (const name of [...alwaysSecret, ...secretHeaders]) headers.delete(name);
  }
  const becomesGet =
    (status === 303 && hop.method !== 'GET' && hop.method !== 'HEAD') ||
    ((status === 301 || status === 302) && hop.method === 'POST');
  if (!becomesGet) return { ...hop, url, headers };
  for (const name of ofBody) headers.delete(name);
  return { url, method: 'GET', headers, body: null };
}
