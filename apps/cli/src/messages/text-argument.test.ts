import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { textArgument } from './text-argument.ts';

function input(...chunks: (string | Buffer)[]): Readable {
  return Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
}

test('A dash reads standard input without its last line end; anything else is the text itself.', async () => {
  expect(await textArgument('-', input('one\n', 'two\r\n'))).toBe('one\ntwo');
  expect(await textArgument('- ', input('not read'))).toBe('- ');
  const e = Buffer.from('é');
  expect(await textArgument('-', input(e.subarray(0, 1), e.subarray(1)))).toBe('é');
});

test('Input that is no UTF-8 text is refused instead of being sent with replaced characters.', async () => {
  await expect(textArgument('-', input(Buffer.from([0xff, 0xfe])))).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('no UTF-8 text'),
  });
});

test('Input that is too long is refused before it has ended.', async () => {
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(1024 * 1024, 'y');
    })(),
  );
  await expect(textArgument('-', endless)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('longer than 64 MiB'),
  });
});
