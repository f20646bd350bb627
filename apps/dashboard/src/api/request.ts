/** An error that the API answered, or that prevented the request. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;

  constructor(status: number, { code, message, hint }: { code: string; message: string; hint?: string }) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

const keyName = 'signalbox-key';

/** Keeps this page's part of the sign-in's token. Only pages of this host and port can read it. */
export const signInKey = {
  get: (): string | null => localStorage.getItem(keyName),
  set: (key: string): void => localStorage.setItem(keyName, key),
  remove: (): void => localStorage.removeItem(keyName),
};

/** Returns the headers that every request of the sign-in has. */
export function signInHeaders(): Record<string, string> {
  const key = signInKey.get();
  return key === null ? {} : { 'x-signalbox-key': key };
}

type Params = Readonly<Record<string, string | number | undefined>>;

/** Reads from the API. Parameters that are empty are left out. */
export async function read<Answer>(path: string, params: Params = {}, signal?: AbortSignal): Promise<Answer> {
  return (await readAged<Answer>(path, params, signal)).data;
}

/** Reads from the API. The answer may be older than the request by `ageMs` milliseconds, if another page asked for the same. */
export async function readAged<Answer>(
  path: string,
  params: Params = {},
  signal?: AbortSignal,
): Promise<{ data: Answer; ageMs: number }> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    if (value !== undefined && value !== '') query.set(name, String(value));
  const text = query.toString();
  const url = `/api/${path}${text === '' ? '' : `?${text}`}`;
  return await ask<Answer>(url, { headers: signInHeaders(), ...(signal && { signal }) });
}

/** Sends a command to the API. It runs once under its key, also if the connection breaks and it is sent again. */
export async function command<Answer>(path: string, params: unknown, key = newKey()): Promise<Answer> {
  const headers = { ...signInHeaders(), 'content-type': 'application/json', 'idempotency-key': key };
  const request = { method: 'POST', headers, body: JSON.stringify(params) };
  try {
    return (await ask<Answer>(`/api/${path}`, request)).data;
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.code !== 'unreachable') throw error;
    return (await ask<Answer>(`/api/${path}`, request)).data;
  }
}

/** Returns a new key for a command. Pages over plain HTTP on another machine have no `randomUUID`. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

async function ask<Answer>(url: string, init: RequestInit): Promise<{ data: Answer; ageMs: number }> {
  try {
    const response = await fetch(url, { ...init, credentials: 'same-origin', cache: 'no-store' });
    const text = await response.text();
    if (response.ok)
      return {
        data: JSON.parse(text) as Answer,
        ageMs: Number(response.headers.get('x-signalbox-age-ms') ?? 0),
      };
    throw new ApiFailure(response.status, errorOf(text, response.status));
  } catch (error) {
    if (error instanceof ApiFailure || init.signal?.aborted) throw error;
    throw new ApiFailure(0, { code: 'unreachable', message: 'The broker does not answer.' });
  }
}

/** Reads an error's fields. An answer that isn't the API's own, such as that of a proxy, has none. */
function errorOf(text: string, status: number): { code: string; message: string; hint?: string } {
  const none = { code: 'internal', message: `The broker answered ${status}.` };
  try {
    return JSON.parse(text).error ?? none;
  } catch {
    return none;
  }
}
