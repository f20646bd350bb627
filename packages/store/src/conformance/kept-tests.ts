import { expect, it } from 'vitest';
import type { InboxStore } from '../inbox-store.ts';
import type { ThreadsQuery } from '../kept-bodies.ts';
import { ack, append, commit, message, type OpenStore, seqOf } from './store-under-test.ts';

const hour = 3_600_000;
const keepBodies = { kinds: ['note', 'ask'], ageMs: hour, bytes: 100_000 };

async function threadsOf(store: InboxStore, query: Partial<ThreadsQuery> = {}): Promise<string[]> {
  const { threads } = await store.kept.threads({ limit: 99, ...query });
  return threads.map(({ newest }) => newest.thread);
}

async function textsOf(store: InboxStore, thread: string): Promise<string[]> {
  return (await store.kept.thread(thread, 0, 99, 1e9)).map(({ body }) => body);
}

async function indexAll(store: InboxStore, now: number): Promise<void> {
  while (await store.kept.index(now));
}

export function keptTests(open: OpenStore): void {
  it('keeps the bodies of settled messages of the given kinds, with their threads', async () => {
    await using setup = await open(undefined, keepBodies);
    const { store } = setup;
    const appended = await append(store, [
      message({ id: 'a', thread: 't', body: '{"text":"one"}' }),
      message({ id: 'b', thread: 't', body: 'call', kind: 'mcp_request' }),
      message({ id: 'c', correlationId: 't', body: 'two\0', sender: 'bob', inbox: 'ann#x' }),
      message({ id: 'd', body: 'alone' }),
      message({ id: 'e', body: undefined }),
    ]);
    for (const [n, inbox] of ['inbox', 'inbox', 'ann#x', 'inbox', 'inbox'].entries())
      await ack(store, inbox, seqOf(appended[n]));
    const again = await setup.reopen();
    expect(await textsOf(again, 't')).toEqual(['{"text":"one"}', 'two\0']);
    expect(await again.kept.thread('t', 0, 9, 1e9)).toMatchObject([
      { seq: seqOf(appended[0]), id: 'a', sender: 'ann', inbox: 'inbox', kind: 'note', size: 14 },
      { seq: seqOf(appended[2]), id: 'c', correlationId: 't', sender: 'bob', inbox: 'ann#x' },
    ]);
    const seqs = appended.map((one) => seqOf(one));
    const some = await again.kept.read([seqs[3]!, seqs[1]!, seqs[0]!, seqs[4]!, 1e9]);
    expect(some.map(({ id, body }) => [id, body]).sort()).toEqual([
      ['a', '{"text":"one"}'],
      ['d', 'alone'],
    ]);
    expect(await again.kept.read([])).toEqual([]);
    expect(await again.kept.threads({ limit: 9 })).toMatchObject({
      threads: [
        { newest: { thread: 'd', body: 'alone' }, messages: 1 },
        { newest: { thread: 't', body: 'two\0' }, messages: 2, since: 1_700_000_000_000 },
      ],
    });
  });

  it('keeps them while messages move to segments, and whether or not they are in the index', async () => {
    await using setup = await open(undefined, keepBodies);
    const { store, memoryRoom } = setup;
    const ids = Array.from({ length: Math.min(3 * memoryRoom, 300) + 20 }, (_, n) => `m${n}`);
    for (const [n, id] of ids.entries()) {
      const [appended] = await append(store, [
        message({ id, thread: 't', createdAt: setup.now(), body: id }),
      ]);
      if (n % 2 === 0) await ack(store, 'inbox', seqOf(appended));
      if (n % 50 === 0) await store.kept.index(setup.now());
    }
    const again = await setup.reopen();
    expect((await again.kept.thread('t', 0, 1000, 1e9)).map(({ body }) => body)).toEqual(ids);
    const page = await again.kept.thread('t', 0, 2, 1e9);
    expect(page.map(({ id }) => id)).toEqual(['m0', 'm1']);
    const small = await again.kept.thread('t', page[1]!.seq, 9, 1);
    expect(small.map(({ id }) => id)).toEqual(['m2']);
  });

  it('finds threads by an agent, by beginnings of words in any script, and page by page', async () => {
    await using setup = await open(undefined, keepBodies);
    const { store } = setup;
    await append(store, [
      message({ id: '1', thread: 'a', body: '{"text":"Where are the files of Zoë?"}', inbox: 'bob' }),
      message({ id: '2', thread: 'b', body: '{"text":"nowhere"}', inbox: 'cat#1', sender: 'bob' }),
      message({ id: '3', thread: 'c', body: '明日のテキストです', inbox: 'dan' }),
      message({ id: '4', thread: 'a', body: '["text","NEAR"]', inbox: 'cat' }),
    ]);
    expect(await threadsOf(store)).toEqual(['a', 'c', 'b']);
    expect(await threadsOf(store, { agent: 'bob' })).toEqual(['b', 'a']);
    expect(await threadsOf(store, { agent: 'cat' })).toEqual(['a', 'b']);
    expect(await threadsOf(store, { words: ['zoe', 'fil'] })).toEqual(['a']);
    expect(await threadsOf(store, { words: ['テキスト'] })).toEqual(['c']);
    expect(await threadsOf(store, { words: ['where'], agent: 'cat' })).toEqual([]);
    expect(await threadsOf(store, { words: ['near', '(', '"', 'OR', '*', ':'] })).toEqual([]);
    expect(await threadsOf(store, { words: ['text', 'near'] })).toEqual(['a']);
    const first = await store.kept.threads({ limit: 2 });
    expect(first.threads.map(({ newest }) => newest.thread)).toEqual(['a', 'c']);
    const second = await store.kept.threads({ limit: 2, cursor: first.cursor! });
    expect(second.threads.map(({ newest }) => newest.thread)).toEqual(['b']);
    expect(second.cursor).toBeUndefined();
  });

  it('finds words with other accents, capitals, widths and punctuation, and several as one only in their order', async () => {
    await using setup = await open(undefined, keepBodies);
    const { store } = setup;
    await append(store, [
      message({ id: 'a', body: '{"text":"See https://example.org/Last_report.txt, (Ann@site): 3.14"}' }),
      message({ id: 'b', body: 'ÉCOLE ΣΑΣ ﬁne ＡＢＣ ｶﾞｽ Čeština хороший\u0000end' }),
      message({ id: 'c', body: `${'x'.repeat(3000)} 'quoted':1 & | ! <-> \\ "` }),
    ]);
    const found: [thread: string, ...words: string[]][] = [
      ...([
        ['a', 'example'],
        ['a', 'report', 'LAST'],
        ['a', 'example.org/la'],
        ['a', 'ann@site'],
      ] as const),
      ...([
        ['b', 'ecole'],
        ['b', 'École'],
        ['b', 'σας'],
        ['b', 'fine abc'],
        ['b', 'ガス'],
        ['b', 'хорошии'],
      ] as const),
      ...([
        ['b', 'cest', 'end'],
        ['c', "'quoted"],
        ['c', 'x'.repeat(2999)],
        ['c', '1', '&', 'quoted'],
      ] as const),
    ].map(([thread, ...words]) => [thread, ...words]);
    for (const [thread, ...words] of found) expect(await threadsOf(store, { words })).toEqual([thread]);
    for (const words of [['org.example'], ['site@ann'], ['cole'], ['&'], ['|', '"'], ['quoted & 2']])
      expect(await threadsOf(store, { words })).toEqual([]);
  });

  it('finds words of large bodies in any script, as far as bodies are searched', async () => {
    await using setup = await open(undefined, { ...keepBodies, bytes: 1e8 });
    const { store } = setup;
    const letters = (from: number, count: number, between: string): string =>
      Array.from({ length: count }, (_, n) => String.fromCodePoint(from + n)).join(between);
    const numbers = Array.from({ length: 400_000 }, (_, n) => n.toString(36)).join(' ');
    const bodies = {
      han: letters(0x4e00, 20_000, '') + letters(0x20000, 22_000, ''),
      hangul: `${letters(0xac00, 11_000, '')} ${letters(0xac00, 11_000, '.')}`,
      numbers,
      json: JSON.stringify({ text: numbers, more: numbers }),
      ligatures: '\ufdfa'.repeat(60_000),
      none: '\u0301\u0301 \ud83d\ude00 '.repeat(10_000),
    };
    for (const [id, body] of Object.entries(bodies)) await append(store, [message({ id, body })]);
    await indexAll(store, 0);
    expect(await threadsOf(store, { words: [letters(0x4e10, 3, '')] })).toEqual(['han']);
    expect(await threadsOf(store, { words: [letters(0xac00, 600, '')] })).toEqual(['hangul']);
    expect(await threadsOf(store, { words: ['9zz'] })).toEqual(['json', 'numbers']);
    expect(await threadsOf(store, { words: ['zzzzz'] })).toEqual([]);
    expect(await threadsOf(store)).toEqual(Object.keys(bodies).reverse());
  });

  it('keeps a message to all members of a group once', async () => {
    await using setup = await open(undefined, keepBodies);
    const { store } = setup;
    const copies = { agents: ['ann', 'bob', 'cat'], partial: false };
    await append(store, [message({ id: 'a', inbox: 'role:r', body: 'to all', copies })]);
    expect(await store.kept.thread('a', 0, 9, 1e9)).toMatchObject([{ inbox: 'role:r', body: 'to all' }]);
  });

  it('forgets what is too old, what is too much, and a thread, for good', async () => {
    await using setup = await open(undefined, keepBodies);
    const { store } = setup;
    const now = setup.now();
    await append(store, [
      message({ id: 'old', createdAt: now - hour }),
      ...Array.from({ length: 12 }, (_, n) =>
        message({ id: `m${n}`, thread: `t${n}`, createdAt: now, body: `x${n} ${'y'.repeat(9990)}` }),
      ),
    ]);
    await indexAll(store, now);
    const kept = await threadsOf(store);
    expect(kept).not.toContain('old');
    expect(kept).toEqual(['t11', 't10', 't9', 't8', 't7', 't6', 't5', 't4', 't3']);
    expect(await threadsOf(store, { words: ['x1'] })).toEqual(['t11', 't10']);
    expect(await store.kept.forget('t11')).toBe(1);
    expect(await store.kept.forget('t11')).toBe(0);
    const [pending] = (await store.read('inbox', 0, 99, 1e9)).filter(({ id }) => id === 'm11');
    await commit(store, { attempts: [{ inbox: 'inbox', seq: pending!.seq, attempts: 1 }] });
    const again = await setup.reopen();
    await indexAll(again, now);
    expect(await textsOf(again, 't11')).toEqual([]);
    expect(await threadsOf(again, { words: ['x1'] })).toEqual(['t10']);
  });

  it('keeps nothing by default', async () => {
    await using setup = await open();
    await append(setup.store, [message({ id: 'a' })]);
    await indexAll(setup.store, setup.now());
    expect(setup.store.kept.keeps).toBeUndefined();
    expect(await threadsOf(setup.store)).toEqual([]);
  });
}
