import { now } from '../model/clock.ts';
import { age, timeOf } from './numbers.ts';

/** Shows how long ago something was, and the time itself when a pointer rests on it. */
export function Age({ at }: { at: number | undefined }) {
  if (at === undefined) return <span class="unknown">unknown</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={timeOf(at)}>
      {age(at, now.value)}
    </time>
  );
}

/** Shows how long ago something was, in a sentence. */
export function Ago({ at }: { at: number }) {
  return now.value - at < 1000 ? (
    <>just now</>
  ) : (
    <>
      <Age at={at} /> ago
    </>
  );
}
