import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Journal, openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { watchSyncs } from '../support/durability/disk-as-synced.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';
const made = { result: { success: true } };

type Files = ReadonlyMap<string, Buffer>;

/** A worker, an orchestrator with a journal, and what is left of that journal after a power cut. */
async function startWatchedStack() {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const file = join(directory.path, 'journal.db');
  const disk = starting.use(watchSyncs([file, `${file}-wal`]));
  const journal = starting.use(await openSqliteJournal({ file }));
  const stack = starting.use(await startToolStack({ journal }));
  const rosa = await stack.executor('rosa');
  const started = starting.move();
  let cuts = 0;
  return {
    disk,
    journal,
    count: (requestId: string) =>
      rosa.execute({ name: count, arguments: { label: requestId } }, { requestId }),
    echo: () => rosa.execute({ name: echo, arguments: { label: 'safe' } }),
    /** The requests for which the tool that is not safe to repeat has run. */
    ran: () =>
      stack
        .ran('count')
        .filter(({ at }) => at === 'start')
        .map(({ args }) => args.label as string),
    /** Opens what a power cut left, as the next start of an orchestrator would. */
    openAfter(files: Files): Promise<Journal> {
      const place = join(directory.path, `cut-${cuts++}`);
      mkdirSync(place);
      for (const [name, content] of files) writeFileSync(join(place, basename(name)), content);
      return openSqliteJournal({ file: join(place, 'journal.db') });
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

it('finds a call not made whose start was written and not synced, and held up nobody else', async () => {
  await using stack = await startWatchedStack();
  const key = { agent: 'rosa', requestId: 'unsynced' };
  const release = stack.disk.hold();
  const call = stack.count(key.requestId);
  await expect.poll(() => stack.journal.find(key)).toMatchObject({ wasStarted: true });
  // A call that was sent before this one would have run before it: the server answers in order.
  expect(await stack.echo()).toMatchObject(made);
  expect(stack.ran()).toEqual([]);
  {
    await using left = await stack.openAfter(stack.disk.files());
    expect(await left.find(key)).toBeUndefined();
  }
  release();
  expect(await call).toMatchObject(made);
  expect(stack.ran()).toEqual([key.requestId]);
});

it('finds the start of each call that was made, whenever it comes', async () => {
  await using stack = await startWatchedStack();
  const cuts: { ran: string[]; files: Files }[] = [];
  const calls: Promise<unknown>[] = [];
  for (let burst = 0; burst < 20; burst++) {
    for (let i = 0; i <= (burst * 7) % 13; i++) calls.push(stack.count(`r-${burst}-${i}`));
    // Where in the work of the orchestrator that is differs from burst to burst.
    if (burst % 2 === 1) await calls.at(-1);
    else await stack.echo();
    cuts.push({ files: stack.disk.files(), ran: stack.ran() });
  }
  await Promise.all(calls);
  for (const { files, ran } of cuts) {
    await using left = await stack.openAfter(files);
    const found = await Promise.all(ran.map((requestId) => left.find({ agent: 'rosa', requestId })));
    expect(found.filter((entry) => !entry?.wasStarted)).toEqual([]);
  }
  expect(stack.ran()).toHaveLength(calls.length);
  expect(stack.disk.syncs).toBeLessThan(calls.length);
});
