import { expect, test } from 'vitest';
import { OutputTail } from '../runner/output/output-tail.ts';
import { endText } from './turn-reason.ts';

function tailOf(text: string): OutputTail {
  const tail = new OutputTail();
  tail.add(Buffer.from(text));
  return tail;
}

const end = {
  code: 3,
  endedBy: null,
  isLate: false,
  told: undefined,
  problem: undefined,
  tail: tailOf('a\nno \x1b[31mmoney\n\n'),
};

test('The reason for which a turn failed tells how its program ended, and its last line without colours.', () => {
  expect(endText(end, 1000)).toBe('its program ended with exit code 3: no money');
  expect(endText({ ...end, code: null, endedBy: 'SIGKILL', tail: tailOf('') }, 1000)).toBe(
    'its program was ended by SIGKILL',
  );
  expect(endText({ ...end, isLate: true }, 90_000)).toBe('it took longer than 90 s and was ended: no money');
  expect(endText({ ...end, code: 0, problem: 'it is no answer' }, 1000)).toBe('it is no answer: no money');
});

test('What a program told of its failure takes the place of its last line, on one line and without tokens.', () => {
  const told = `529\n\x1b[31moverloaded sbx_rosa~${'a'.repeat(43)}`;
  expect(endText({ ...end, told }, 1000)).toBe('its program ended with exit code 3: 529 overloaded [token]');
});

test('A reason is short enough for the broker, which keeps 500 characters.', () => {
  expect(endText({ ...end, tail: tailOf('x'.repeat(10_000)) }, 1000).length).toBeLessThan(500);
  expect(endText({ ...end, told: 'x'.repeat(10_000) }, 1000).length).toBeLessThan(500);
});
