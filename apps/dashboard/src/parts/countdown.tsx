import { now } from '../model/clock.ts';
import { timeLeft, timeOf } from './numbers.ts';

const minute = 60_000;

/** Shows how long something can still wait. Less than five minutes are highlighted, and the last minute more. */
export function Countdown({ until }: { until: number }) {
  const left = until - now.value;
  const tone = left < minute ? 'bad' : left < 5 * minute ? 'soon' : '';
  return (
    <time class={`countdown ${tone}`} dateTime={new Date(until).toISOString()} title={timeOf(until)}>
      {left > 0 ? `${timeLeft(left)} left` : 'time is over'}
    </time>
  );
}
