import { expect, test } from 'vitest';
import {
  maxTokenLength,
  parseTokenFile,
  tokenFileFault,
  tokenFileProblem,
  tokenFileText,
  tokenText,
  withoutTokens,
} from './token-text.ts';

const token = tokenText('rosa', 'x'.repeat(43));

test('A token file holds a token, and perhaps the address of its broker in a second line.', () => {
  for (const file of [
    { token },
    { token, url: 'unix:/home/rosa/my state/broker.sock' },
    { token, url: 'wss://box' },
  ])
    expect(parseTokenFile(tokenFileText(file))).toEqual(file);
  expect(parseTokenFile(`\ufeff${token} \r\n unix:/tmp/broker.sock \r\n\r\n`)).toEqual({
    token,
    url: 'unix:/tmp/broker.sock',
  });
});

test('Two tokens, another second line, a third line and no token make no token file.', () => {
  for (const text of ['', '\n', `${token}\n${token}`, `${token}\nhttp://a`, `${token} unix:/a`, 'two words'])
    expect(parseTokenFile(text)).toBeUndefined();
  expect(parseTokenFile(`${token}\nunix:/a\nunix:/b`)).toBeUndefined();
  expect(parseTokenFile('x'.repeat(maxTokenLength))).toBeDefined();
  expect(parseTokenFile('x'.repeat(maxTokenLength + 1))).toBeUndefined();
});

const whole = tokenFileText({ token: tokenText('rosa', 'x'.repeat(43)), url: 'unix:/run/a/broker.sock' });

test('A token file that is cut anywhere is refused, and whole ones are taken with any line ends.', () => {
  const nowhere = () => false;
  for (let length = 'sbx_'.length; length < whole.length; length++)
    if (length !== whole.indexOf('\n') && length !== whole.indexOf('\n') + 1)
      expect(tokenFileFault(whole.slice(0, length), nowhere), `${length}`).toMatch(/cut/);
  const [token = ''] = whole.split('\n');
  for (const text of [whole, whole.replaceAll('\n', '\r\n'), `\ufeff${whole}\n`, token, `${token}\n`])
    expect(tokenFileFault(text, nowhere)).toBeUndefined();
  // Some editors leave the last line without an end.
  expect(tokenFileFault(whole.trim(), (path) => path === '/run/a/broker.sock')).toBeUndefined();
});

test.each([
  ['', 'is empty'],
  ['\r\n', 'is empty'],
  ['\x7fELF\x01\x00\x00', 'is no text'],
  [`${whole}${whole}`, 'holds several tokens'],
  [`${whole}unix:/b\n`, 'does not hold one token'],
  ['to be done\n', 'does not hold one token'],
  ['eyJhbGciOiJSUzI1NiJ9.eyJzdWIi\n', 'is cut: its token is no whole JSON Web Token'],
])('The token file %j %s.', (text, fault) => {
  expect(tokenFileFault(text, () => true)).toBe(fault);
});

test('A file that holds something else is left alone by the advice, and a broken token file is written again.', () => {
  const hintFor = (text: string) =>
    tokenFileProblem('./a', { text: tokenFileFault(text, () => true)! }, '--agent rosa').hint;
  expect(hintFor('broker:\n  data: ./state\nroles: {}\n')).toMatch(/issue --agent rosa --out NAME\.token$/);
  expect(hintFor(whole.slice(0, 20))).toMatch(/issue --agent rosa --out \.\/a --force$/);
});

const base64url = (data: object | string): string =>
  Buffer.from(typeof data === 'string' ? data : JSON.stringify(data)).toString('base64url');
const jwtWith = (header: object | string): string =>
  `${base64url(header)}.${base64url({ sub: 'rosa' })}.${'aB3_-'.repeat(8)}xyz`;

test('A JSON Web Token in another text is replaced, wherever its header names the algorithm, after any other text.', () => {
  const headers = [
    { alg: 'RS256' },
    { kid: 'a', alg: 'RS256' },
    { kid: 'ab', alg: 'ES256', jwk: { kty: 'EC' } },
    { kid: 'abc', typ: 'JWT', alg: 'EdDSA' },
    '{"typ":"JWT",\r\n "alg":"HS256"}',
  ];
  for (const jwt of headers.map(jwtWith)) {
    expect(withoutTokens(`Bearer ${jwt}, and ${jwt.slice(0, -30)}`)).toBe('Bearer [token], and [token]');
    expect(withoutTokens(`a=${encodeURIComponent(`=${jwt}`)}&b`)).toBe('a=%3D[token]&b');
    const text = JSON.stringify({ out: `\n${jwt}\n` });
    expect(JSON.parse(withoutTokens(JSON.stringify({ text, [jwt]: `\u0001${jwt}` })))).toEqual({
      text: JSON.stringify({ out: '\n[token]\n' }),
      '[token]': '\u0001[token]',
    });
  }
  const { length } = withoutTokens(`${tokenText('rosa', 'x'.repeat(43))} ${jwtWith({ alg: 'none' })}`);
  expect(length).toBe('[token] [token]'.length);
});

test('A text that only looks like a JSON Web Token stays as it is.', () => {
  for (const text of [
    'surveyJson.responses.forEachItem(one)',
    'eyJsonSerializerOptions.defaults.propertyNames',
    `${base64url({ not: 'a header' })}.${base64url({})}.${'x'.repeat(43)}`,
    jwtWith({ alg: 'RS256' }).split('.')[0]!,
    'eyJ.eyJ.eyJ',
  ])
    expect(withoutTokens(text)).toBe(text);
});

test('A text full of beginnings of tokens is searched in a time that grows with its length only.', () => {
  const header = base64url({ alg: 'RS256' });
  for (const piece of [
    'eyJ',
    'eyJ.',
    'eyJhbGci',
    header,
    `${header}.`,
    `${header}.a `,
    `a.${header}-`,
    'sbx_',
  ]) {
    const started = performance.now();
    withoutTokens(piece.repeat(4_000_000 / piece.length));
    expect(performance.now() - started, piece).toBeLessThan(5_000);
  }
});
