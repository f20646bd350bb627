import { type Response as Answer, ask } from '../http/ask.ts';

/** A browser that signed in, as the broker's HTTP listener sees it. */
export interface ApiSignIn {
  readonly cookie: string;
  readonly key: string;
  /** The header `Set-Cookie` of the answer to the sign-in. */
  readonly setCookie: string;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
}

let keys = 0;

/** Trades the code of a link for a sign-in. Returns the refusal if it is refused. */
export async function signIn(here: { readonly origin: string }, link: string): Promise<ApiSignIn | Answer> {
  const to = { port: Number(new URL(here.origin).port) };
  const own = { host: new URL(here.origin).host };
  const changing = { ...own, origin: here.origin, 'content-type': 'application/json' };
  const code = link.split('#code=')[1]!;
  const answer = await ask(to, '/api/sign-in', {
    method: 'POST',
    headers: changing,
    body: JSON.stringify({ code }),
  });
  if (answer.status !== 200) return answer;
  const [setCookie] = answer.headers['set-cookie'] as string[];
  const cookie = setCookie!.split(';')[0]!;
  const { key } = JSON.parse(answer.body);
  const parts = { cookie, 'x-signalbox-key': key };
  return {
    cookie,
    key,
    setCookie: setCookie!,
    get: (path, headers = {}) => ask(to, `/api/${path}`, { headers: { ...own, ...parts, ...headers } }),
    post: (path, body, headers = {}) =>
      ask(to, `/api/${path}`, {
        method: 'POST',
        headers: { ...changing, ...parts, 'idempotency-key': `test-key-${++keys}`, ...headers },
        body: JSON.stringify(body),
      }),
  };
}

/** Signs in; throws if that is refused. */
export async function signedIn(
  here: { readonly origin: string; link(token?: string): Promise<string> },
  token?: string,
): Promise<ApiSignIn> {
  const signedIn = await signIn(here, await here.link(token));
  if ('get' in signedIn) return signedIn;
  throw new Error(`refused: ${signedIn.status} ${signedIn.body}`);
}

/** Reads the JSON of an answer. */
export function jsonOf(answer: Answer) {
  return JSON.parse(answer.body);
}
