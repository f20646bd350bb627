import { expect, test } from 'vitest';
import { Mentioned } from './mentioned.ts';
import { Unread } from './unread.ts';

test('a session’s first result waits for the first look at mail, later ones wait for none', async () => {
  const looks: PromiseWithResolvers<[]>[] = [];
  const client = {
    agent: 'rosa',
    peek() {
      const look = Promise.withResolvers<[]>();
      looks.push(look);
      return look.promise;
    },
  };
  const unread = new Unread(
    client,
    { isLeased: false, fresh: () => [] },
    {
      everyMs: 0,
      mode: () => 'text',
      readTool: () => 'signalbox_inbox_read',
      mentioned: new Mentioned(),
      now: () => performance.now(),
      log: () => {},
    },
  );
  const { signal } = new AbortController();
  unread.refresh();
  let isKnown = false;
  const first = unread.known(signal).then(() => {
    isKnown = true;
  });
  await new Promise(setImmediate);
  expect(isKnown).toBe(false);
  looks[0]!.resolve([]);
  await first;
  unread.refresh();
  await unread.known(signal);
  expect(looks).toHaveLength(2);
});
