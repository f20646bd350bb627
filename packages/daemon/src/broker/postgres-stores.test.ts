import { expect, it } from 'vitest';
import { brokerName } from './postgres-stores.ts';

it.each([
  ['db-7.example.com', 'db-7.example.com-0a1b2c'],
  ["Rosa's MacBook", 'rosa-s-macbook-0a1b2c'],
  ['räksmörgås', 'r-ksm-rg-s-0a1b2c'],
  ['-x', 'x-0a1b2c'],
  ['日本', 'broker-0a1b2c'],
  ['a'.repeat(64), `${'a'.repeat(40)}-0a1b2c`],
])('names the broker of the machine %s', (machine, name) => {
  expect(brokerName(machine, '0a1b2c3d4e5f')).toBe(name);
});
