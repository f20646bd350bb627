import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readBytes } from './kept-text.ts';
import { ResultStore, type ResultStoreOptions } from './result-store.ts';

let folder: string;
let directory: string;
let clock: number;
let stores: ResultStore[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-results-'));
  directory = join(folder, 'results');
  clock = 0;
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const hour = 3_600_000;

async function open(options: Partial<ResultStoreOptions> = {}): Promise<ResultStore> {
  const store = await ResultStore.open({ directory, monotonic: () => clock, ...options });
  stores.push(store);
  return store;
}

const call = (agent: string, requestId: string) => ({
  agent,
  requestId,
  role: 'reader',
  tool: 'mcp_log__read',
});
const result = (text: string) => ({ content: [{ type: 'text', text }] });
const keep = async (store: ResultStore, agent: string, requestId: string, text = 'x'.repeat(1000)) => {
  const keeping = await store.keep(call(agent, requestId), result(text));
  return 'preview' in keeping ? /result\/(.{22})/.exec(JSON.stringify(keeping.preview))![1]! : keeping;
};
const textOf = async (store: ResultStore, id: unknown) => {
  await using kept = await store.open(id as string);
  return kept && (await readBytes(kept.document('text'), { by: 'bytes', offset: 0 }, 1e9)).text;
};
const files = () => readdirSync(directory).filter((name) => name.endsWith('.result'));

test('The next process that opens the folder reads a kept result, also if the process before died.', async () => {
  const first = await open();
  const id = await keep(first, 'rosa', '1', 'äöü\n'.repeat(50_000));
  // The first store is not closed: a process need not do anything at its end.
  const second = await open();
  expect(await textOf(second, id)).toBe('äöü\n'.repeat(50_000));
  expect(second.callOf(id as string)).toMatchObject(call('rosa', '1'));
  expect(second.summary()).toEqual(first.summary());
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(statSync(join(directory, files()[0]!)).mode & 0o777).toBe(0o600);
});

test('The same call gets the same preview again, before and after a restart, and is kept once.', async () => {
  const first = await open();
  const id = await keep(first, 'rosa', '1');
  expect(await keep(first, 'rosa', '1', 'another text')).toBe(id);
  const second = await open();
  expect(await keep(second, 'rosa', '1', 'another text')).toBe(id);
  expect(await keep(second, 'walt', '1', 'his text')).not.toBe(id);
  expect(files()).toHaveLength(2);
});

test('Files that a dying process left unfinished are deleted, and so are damaged ones; the others stay.', async () => {
  const logged: string[] = [];
  const log = ({ event }: { event: string }) => void logged.push(event);
  const first = await open();
  const ids = [
    await keep(first, 'rosa', '1'),
    await keep(first, 'rosa', '2'),
    await keep(first, 'rosa', '3'),
  ];
  writeFileSync(join(directory, 'abc.new'), 'half');
  writeFileSync(join(directory, 'of-somebody-else'), '');
  truncateSync(join(directory, `${ids[0]}.result`), 900);
  writeFileSync(join(directory, `${ids[1]}.result`), 'something else');
  const second = await open({ log });
  expect(logged).toEqual(['kept_result_damaged', 'kept_result_damaged']);
  expect(readdirSync(directory).sort()).toEqual([`${ids[2]}.result`, 'of-somebody-else'].sort());
  expect(await textOf(second, ids[0])).toBeUndefined();
  expect(await textOf(second, ids[2])).toBe('x'.repeat(1000));
});

test('Nothing is deleted before its time, which counts only while the store is open.', async () => {
  const limits = { ageMs: 2 * hour };
  const first = await open({ limits });
  const id = await keep(first, 'rosa', '1');
  clock = hour;
  await first[Symbol.asyncDispose]();
  clock = 100 * hour;
  const second = await open({ limits });
  clock += hour - 1;
  await second.prune();
  expect(await textOf(second, id)).toBe('x'.repeat(1000));
  clock += 1;
  // A result is gone as soon as its time is over, and its room is free after the next deletion.
  expect(await textOf(second, id)).toBeUndefined();
  expect(second.callOf(id as string)).toBeUndefined();
  await second.prune();
  expect(files()).toEqual([]);
  expect(second.summary()).toMatchObject({ results: 0, bytes: 0 });
});

test('If the time for which the store was open is lost, it is that of the newest result.', async () => {
  const limits = { ageMs: 2 * hour };
  const first = await open({ limits });
  clock = 1000 * hour;
  const id = await keep(first, 'rosa', '1');
  rmSync(join(directory, 'open-ms'), { force: true });
  const second = await open({ limits });
  clock += 2 * hour - 1;
  expect(await textOf(second, id)).toBe('x'.repeat(1000));
  clock += 1;
  expect(await textOf(second, id)).toBeUndefined();
});

test('An agent that has kept as much as it may gets a reason, deletes nothing, and takes nothing from others.', async () => {
  const limits = { perAgent: 3, results: 4, bytesPerAgent: 100_000, bytes: 1_000_000 };
  const store = await open({ limits });
  const ids = [await keep(store, 'rosa', '1'), await keep(store, 'rosa', '2')];
  // The rest is for others: two of four are left.
  expect(await keep(store, 'rosa', '3')).toEqual({
    notKept: 'of the 4 results that are kept for all agents, the rest is for others',
  });
  expect(store.summary()).not.toHaveProperty('problem');
  const other = await keep(store, 'walt', '1');
  for (const id of [...ids, other]) expect(await textOf(store, id)).toBe('x'.repeat(1000));
  expect(await keep(await open({ limits }), 'rosa', '3')).toHaveProperty('notKept');
  expect(await keep(store, 'nora', '1', 'x'.repeat(60_000))).toEqual({
    notKept: 'it is larger than the 100,000 bytes that may be kept',
  });
  expect(files()).toHaveLength(3);
});

test('The agents of one minting token share a room, also after a restart.', async () => {
  const limits = { perMinter: 2, ageMs: hour };
  const store = await open({ limits });
  const keepOf = (at: ResultStore, agent: string, minter?: string) =>
    at.keep({ ...call(agent, '1'), minter }, result('x'.repeat(1000)));
  for (const agent of ['swarm-1', 'swarm-2'])
    expect(await keepOf(store, agent, 't-1')).toHaveProperty('preview');
  const refused = { notKept: expect.stringContaining('those with tokens of the same issuer') };
  expect(await keepOf(store, 'swarm-3', 't-1')).toEqual(refused);
  const next = await open({ limits });
  expect(await keepOf(next, 'swarm-3', 't-1')).toEqual(refused);
  for (const minter of ['t-2', undefined])
    expect(await keepOf(store, `walt-${minter}`, minter)).toHaveProperty('preview');
  clock += hour;
  await Promise.all([next.prune(), next.prune()]);
  expect(next.summary()).toMatchObject({ results: 0, bytes: 0 });
  for (const agent of ['swarm-3', 'swarm-4'])
    expect(await keepOf(next, agent, 't-1')).toHaveProperty('preview');
});

test('Some room stays free on the disk.', async () => {
  let free = 0;
  const logged: object[] = [];
  const store = await open({ freeBytes: async () => free, log: (event) => void logged.push(event) });
  expect(await keep(store, 'rosa', '1')).toEqual({ notKept: 'the disk is full, or nearly so' });
  expect(store.summary()).toMatchObject({ results: 0, bytes: 0, problem: 'the disk is full, or nearly so' });
  expect(logged).toEqual([
    { event: 'result_not_kept', reason: expect.stringContaining('the disk has 0 bytes left') },
  ]);
  free = 300 * 1024 * 1024;
  const id = await keep(store, 'rosa', '1');
  expect(await textOf(store, id)).toBe('x'.repeat(1000));
  expect(store.summary()).not.toHaveProperty('problem');
});

test('A result whose file cannot be written is not kept, leaves nothing behind and takes no room.', async () => {
  const store = await open();
  await keep(store, 'rosa', '1');
  const before = store.summary();
  const logged: object[] = [];
  const broken = await open({ newId: () => 'no/such/folder', log: (event) => void logged.push(event) });
  expect(await keep(broken, 'rosa', '2')).toEqual({ notKept: 'its file could not be written' });
  expect(logged).toMatchObject([{ event: 'result_not_kept' }]);
  expect(broken.summary()).toEqual({ ...before, problem: 'its file could not be written' });
  expect(readdirSync(directory).filter((name) => name.endsWith('.new'))).toEqual([]);
});

test('Two answers to one call at a time are one result, and many results are kept at once.', async () => {
  const store = await open();
  const many = Array.from({ length: 20 }, (_, at) =>
    keep(store, 'rosa', String(at), `text ${at}`.repeat(200)),
  );
  const ids = await Promise.all(many);
  expect(new Set(ids).size).toBe(20);
  for (const [at, id] of ids.entries()) expect(await textOf(store, id)).toBe(`text ${at}`.repeat(200));
  const [one, other] = await Promise.all([keep(store, 'walt', '1'), keep(store, 'walt', '1')]);
  expect(one).toBe(other);
});

test('A folder that somebody has deleted is made again, and what was in it is gone.', async () => {
  const store = await open();
  const id = await keep(store, 'rosa', '1');
  rmSync(directory, { recursive: true });
  expect(await store.open(id as string)).toBeUndefined();
  const next = await keep(store, 'rosa', '2', 'here');
  expect(await textOf(store, next)).toBe('here');
});

test('An id that an agent uses again for another tool leads to no result of the first one.', async () => {
  const store = await open();
  await keep(store, 'rosa', '1', 'a secret');
  const other = { ...call('rosa', '1'), tool: 'mcp_log__write' };
  const keeping = await store.keep(other, result('public'));
  expect(JSON.stringify(keeping)).toContain('public');
  expect(JSON.stringify(keeping)).not.toContain('a secret');
});

test('A folder that cannot be read is an error that names it and says what to do.', async () => {
  writeFileSync(directory, '');
  await expect(open()).rejects.toMatchObject({
    code: 'bad_data_directory',
    message: expect.stringContaining(`large results ${directory} cannot be read: ENOTDIR`),
    details: { hint: expect.stringContaining('move it away') },
  });
});
