import type { Authorizer } from './authorizer.ts';
import { insufficientScope } from './oauth/challenge.ts';

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Returns a `fetch` that sends the access token, and asks once for a new token when the server answers 401: a request with that answer was
 * not run. Rejects with the authorizer's errors, and with `auth_failed` for a missing scope.
 */
export function authorizedFetch(authorizer: Authorizer, send: Fetch = fetch): Fetch {
  return async (url, init = {}) => {
    const signal = init.signal ?? new AbortController().signal;
    const sendWith = (authorization: string) => {
      const headers = new Headers(init.headers);
      headers.set('authorization', authorization);
      return send(url, { ...init, headers });
    };
    const shown = await authorizer.header(signal);
    let response = await sendWith(shown);
    if (response.status === 401 && canBeSentAgain(init.body)) {
      await response.body?.cancel();
      const renewed = await authorizer.renew(shown, signal);
      response = await sendWith(renewed);
      if (response.status === 401) {
        await response.body?.cancel();
        throw authorizer.refused(renewed);
      }
    }
    const missing = response.status === 403 && insufficientScope(response.headers.get('www-authenticate'));
    if (!missing) return response;
    await response.body?.cancel();
    throw missing;
  };
}

/** Tells whether a body can be sent a second time. A stream can be read only once. */
function canBeSentAgain(body: RequestInit['body']): boolean {
  return !(body instanceof ReadableStream);
}
