import { expect, test } from 'vitest';
import { gateOperations } from './gate-operations.ts';
import { gateHelp, parseGateOptions } from './gate-options.ts';

test('Without options the gate compares all operations in 100 pairs with the recorded base, and a list keeps their order.', () => {
  expect(parseGateOptions([])).toEqual({
    base: undefined,
    pairs: 100,
    operations: gateOperations,
    json: undefined,
  });
  expect(
    parseGateOptions(['--operations', 'request, enqueue', '--base', 'HEAD', '--pairs', '10']),
  ).toMatchObject({
    base: 'HEAD',
    pairs: 10,
    operations: ['enqueue', 'request'],
  });
  expect(parseGateOptions(['-h'])).toBeUndefined();
  for (const option of ['--base', '--pairs', '--operations', '--json']) expect(gateHelp).toContain(option);
});

test('An option of the gate that cannot be followed is refused with its name and what it takes.', () => {
  const refused: [args: string[], message: RegExp][] = [
    [['--record'], /Unknown option '--record'/],
    [['enqueue'], /'enqueue'/],
    [['--pairs', '9'], /--pairs must be a whole number from 10 to 1000, not '9'/],
    [['--pairs', '1001'], /from 10 to 1000, not '1001'/],
    [['--pairs', '12.5'], /--pairs must be a whole number/],
    [
      ['--operations', 'enqueue,calls'],
      /--operations: nothing is called 'calls'; there are enqueue, consume/,
    ],
    [['--operations', ''], /--operations: nothing is called ''/],
  ];
  for (const [args, message] of refused)
    expect(() => parseGateOptions(args), args.join(' ')).toThrow(message);
});
