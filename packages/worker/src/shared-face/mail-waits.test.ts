import { expect, test } from 'vitest';
import { MailWaits } from './mail-waits.ts';

const mail = { hint: 'NEWS.', messages: 1, from: ['walt'] };

/** A session that has no mail until it is given some, and counts the looks for it. */
function session() {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const state = { looks: 0, mail: [] as (typeof mail)[] };
  const newMailHint = async () => {
    state.looks++;
    return state.mail.shift();
  };
  return { state, close, newMailHint, closed };
}

const never = new AbortController().signal;

test('A wait ends with the hint at mail that comes later.', async () => {
  const rosa = session();
  const told = new MailWaits(1).next(rosa, never);
  await expect.poll(() => rosa.state.looks).toBeGreaterThan(1);
  rosa.state.mail.push(mail);
  expect(await told).toEqual({ hint: 'NEWS.' });
});

test('Of two waits of one session the later one goes on, and others are left alone.', async () => {
  const [rosa, walt] = [session(), session()];
  const waits = new MailWaits(1);
  const first = waits.next(rosa, never);
  const other = waits.next(walt, never);
  const second = waits.next(rosa, never);
  expect(await first).toEqual({ hint: null, superseded: true });
  rosa.state.mail.push(mail);
  expect(await second).toEqual({ hint: 'NEWS.' });
  walt.state.mail.push(mail);
  expect(await other).toEqual({ hint: 'NEWS.' });
});

test('A wait ends without a hint when its session ends, or nobody waits any more.', async () => {
  const rosa = session();
  const waits = new MailWaits(60_000);
  const ended = waits.next(rosa, never);
  rosa.close();
  expect(await ended).toEqual({ hint: null });
  const gone = new AbortController();
  const left = waits.next(session(), gone.signal);
  gone.abort();
  expect(await left).toEqual({ hint: null });
});
