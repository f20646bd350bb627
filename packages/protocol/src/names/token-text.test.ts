import { expect, test } from 'vitest';
import { maxTokenLength, parseTokenFile, tokenFileText, tokenText } from './token-text.ts';

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
