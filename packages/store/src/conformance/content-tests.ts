import { expect, it } from 'vitest';
import { append, message, type OpenStore, seqOf } from './store-under-test.ts';

export function contentTests(open: OpenStore): void {
  it.each([
    ['unicode', '{"text":"žluťoučký 🐎 日本"}'],
    ['line separators', '"\u2028\u2029"'],
    ['NUL and control characters', 'a\0b\u0001\0'],
    ['an empty text', ''],
    ['a number that JavaScript cannot hold', '{"n":12345678901234567890.10}'],
    ['a mebibyte', 'é'.repeat(512 * 1024)],
  ])('gives back a body of %s as it came', async (_, body) => {
    await using setup = await open();
    await append(setup.store, [message({ id: 'a', body })]);
    const [read] = await (await setup.reopen()).read('inbox', 0, 9, 1e9);
    expect(read?.body === body).toBe(true);
    expect(read?.size).toBe(Buffer.byteLength(body));
    expect(await append(setup.store, [message({ id: 'a', body })])).toEqual([{ result: 'duplicate' }]);
  });

  it('gives back every field, and leaves out those that were not given', async () => {
    await using setup = await open();
    const full = message({ id: 'a', correlationId: 'c', traceparent: 't', thread: 'th' });
    const { body: _, ...bodiless } = message({ id: 'b' });
    const appended = await append(setup.store, [full, bodiless]);
    expect(await setup.store.read('inbox', 0, 9, 1e6)).toEqual([
      { ...full, seq: seqOf(appended[0]), attempts: 0, size: 6 },
      { ...bodiless, seq: seqOf(appended[1]), attempts: 0, size: 0 },
    ]);
  });
}
