import { useEffect, useState } from 'preact/hooks';
import { lastBatch, liveState } from '../model/live.ts';
import { counted } from './numbers.ts';

const seconds = 60;

/** Draws how many events came in each second of the last minute. */
export function RateLine() {
  const [counts, setCounts] = useState<readonly number[]>(() => Array(seconds).fill(0));
  useEffect(() => {
    let count = 0;
    const stop = lastBatch.subscribe(({ events, missed }) => {
      count += events.length + missed;
    });
    const timer = setInterval(() => {
      const last = count;
      count = 0;
      if (document.visibilityState === 'visible') setCounts((before) => [...before.slice(1), last]);
    }, 1000);
    return () => {
      stop();
      clearInterval(timer);
    };
  }, []);
  const most = Math.max(1, ...counts);
  const points = counts.map((count, index) => `${(index * 100) / (seconds - 1)},${23 - (21 * count) / most}`);
  const sum = counts.reduce((all, count) => all + count, 0);
  const text = liveState.value === 'open' ? `${counted(sum, 'event')} a minute` : 'events: unknown';
  return (
    <figure class="rate">
      <svg viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
        <polyline points={points.join(' ')} />
      </svg>
      <figcaption>{text}</figcaption>
    </figure>
  );
}
