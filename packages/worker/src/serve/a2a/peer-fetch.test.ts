import { expect, test } from 'vitest';
import { isSafeForToken, peerFetch } from './peer-fetch.ts';

const origin = 'https://agents.example';

/** Answers with a stream of pieces. */
function streaming(pieces: readonly string[]) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  void (async () => {
    for (const piece of pieces) await writer.write(Buffer.from(piece));
    await writer.close();
  })().catch(() => {});
  const fetch = async () => new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
  return peerFetch({ fetch, origins: [origin], token: undefined })(origin);
}

const kib = (n: number): string => 'x'.repeat(n * 1024);

test.each([
  ['short lines in pieces', ['a', 'b\nc', '\n', `${kib(250)}\n${kib(250)}\n`], true],
  ['a line that grows over pieces', [kib(200), kib(57)], false],
  ['a long line between short ones', [`a\n${kib(257)}\nb\n`], false],
  ['a long end of a piece', [`a\n${kib(200)}`, kib(57)], false],
])('A stream with %s passes or is cut.', async (_, pieces, passes) => {
  const read = (await streaming(pieces)).text();
  if (passes) expect(await read).toBe(pieces.join(''));
  else
    await expect(read).rejects.toMatchObject({ kind: 'failed', message: expect.stringContaining('a line') });
});

test.each([
  ['https://agents.example', true],
  ['http://127.0.0.1:8080', true],
  ['http://[::1]:8080', true],
  ['http://localhost', true],
  ['http://localhost.example', false],
  ['http://10.0.0.1', false],
])('a token may go to %s: %s', (to, expected) => {
  expect(isSafeForToken(to)).toBe(expected);
});

test('Only the named origins are asked, and get the token.', async () => {
  const seen: (string | null)[] = [];
  const fetch = async (url: URL, init: RequestInit) => {
    seen.push(`${url.origin} ${new Headers(init.headers).get('authorization')} ${init.redirect}`);
    return new Response('{}');
  };
  const guarded = peerFetch({ fetch, origins: [origin], token: () => 'secret' });
  await guarded(`${origin}/rpc`);
  for (const other of [
    'http://agents.example/',
    'https://agents.example:444/',
    'https://agents.example.org/',
  ])
    await expect(guarded(other)).rejects.toMatchObject({ kind: 'forbidden' });
  expect(seen).toEqual([`${origin} Bearer secret manual`]);
});
