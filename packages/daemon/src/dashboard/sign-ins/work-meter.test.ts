import { expect, test } from 'vitest';
import { WorkMeter } from './work-meter.ts';

test('Work is divided among what was under way when it was done.', () => {
  let busy = 100;
  const meter = new WorkMeter(() => busy);
  const spent = { a: 0, b: 0 };
  const spend = (who: 'a' | 'b') => (ms: number) => {
    spent[who] += ms;
  };
  {
    using _a = meter.begin(spend('a'));
    busy += 10;
    {
      using _b = meter.begin(spend('b'));
      busy += 20;
    }
    busy += 5;
  }
  busy += 1000;
  using _again = meter.begin(spend('b'));
  expect(spent).toEqual({ a: 25, b: 10 });
});
