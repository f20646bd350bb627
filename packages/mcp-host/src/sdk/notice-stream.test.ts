import { expect, it, vi } from 'vitest';
import { NoticeStream } from './notice-stream.ts';

const stream = () => new Response('', { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });

it('waits longer each time for a stream that does not last, and little for one that did', async () => {
  let now = 0;
  const onMissed = vi.fn();
  const notices = new NoticeStream(() => now, onMissed);
  const open = () => notices.open(async () => stream(), undefined);
  await open();
  expect(onMissed).not.toHaveBeenCalled();
  const pauses: number[] = [];
  for (let i = 0; i < 8; i++) {
    pauses.push(notices.nextPauseMs());
    await open();
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  expect(onMissed).toHaveBeenCalledTimes(8);
  now += 30_000;
  expect(notices.nextPauseMs()).toBe(1_000);
});

it('takes a page for no stream, and a refusal for final', async () => {
  const onMissed = vi.fn();
  const notices = new NoticeStream(() => 0, onMissed);
  const page = new Response('<html>', { headers: { 'content-type': 'text/html' } });
  expect((await notices.open(async () => page, undefined)).status).toBe(405);
  for (const status of [400, 401, 404, 405, 501])
    expect((await notices.open(async () => new Response(null, { status }), undefined)).status).toBe(status);
  expect(onMissed).not.toHaveBeenCalled();
});

it.each([408, 409, 429, 500, 502, 503])('asks again after %i, and ends with its session', async (status) => {
  const onMissed = vi.fn();
  const waits: number[] = [];
  const session = new AbortController();
  const notices = new NoticeStream(
    () => 0,
    onMissed,
    async (ms) => {
      if (waits.push(ms) === 3) session.abort();
    },
  );
  const away = () => new Response('away', { status });
  const answers = [away(), stream()];
  expect((await notices.open(async () => answers.shift()!, session.signal)).status).toBe(200);
  expect(onMissed).toHaveBeenCalledOnce();
  await expect(notices.open(async () => away(), session.signal)).rejects.toThrow(/abort/);
  expect(waits).toEqual([1_000, 2_000, 4_000]);
});
