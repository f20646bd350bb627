import type { BrokerClient, RequestOutcome } from '@signalbox/client';
import { expect, test, vi } from 'vitest';
import { FollowedResources } from './followed-resources.ts';

/** An orchestrator that answers when the test says so. */
function newFollowed() {
  const asked: { uris: string[]; signal: AbortSignal; answer: (outcome: object) => void }[] = [];
  const request = (
    _to: string,
    _kind: string,
    body: { uris: string[] },
    { signal }: { signal: AbortSignal },
  ) =>
    new Promise((resolve) => {
      const answer = (outcome: object) => resolve(outcome as RequestOutcome);
      asked.push({ uris: body.uris, signal, answer });
      signal.addEventListener('abort', () => answer({ status: 'cancelled' }));
    });
  const stop = new AbortController();
  const client = { request } as unknown as Pick<BrokerClient, 'request'>;
  const followed = new FollowedResources({
    asker: { client, orchestrator: 'orchestrator' },
    stop: stop.signal,
    log: () => {},
  });
  const completed = (uris: string[]) => ({
    status: 'completed',
    reply: { json: { success: true, data: { subscribed: uris, refused: [] } } },
  });
  return { asked, stop, followed, completed };
}

test('A question that is open when the orchestrator may be another one is asked anew at once.', async () => {
  const { asked, followed, completed } = newFollowed();
  const following = followed.follow('a', new Set(['x:1']));
  followed.repeat();
  await expect.poll(() => asked.length).toBe(2);
  expect(asked.map(({ uris, signal }) => [uris, signal.aborted])).toEqual([
    [['x:1'], true],
    [['x:1'], false],
  ]);
  asked[1]!.answer(completed(['x:1']));
  expect(await following).toEqual(new Map());
});

test('What could not be said again is said once more after a pause, until it is answered or nobody wants it.', async () => {
  vi.useFakeTimers();
  try {
    const { asked, stop, followed, completed } = newFollowed();
    const following = followed.follow('a', new Set(['x:1']));
    asked[0]!.answer(completed(['x:1']));
    await following;
    followed.repeat();
    asked[1]!.answer({ status: 'timed_out' });
    await vi.advanceTimersByTimeAsync(1_999);
    expect(asked).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    asked[2]!.answer(completed(['x:1']));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(3);
    stop.abort();
    followed.repeat();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(4);
  } finally {
    vi.useRealTimers();
  }
});
