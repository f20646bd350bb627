import { expect, it } from 'vitest';
import { AuditWatch } from './audit-watch.ts';

it('warns from half of the budget on, and again for each tenth more', () => {
  const warned: unknown[] = [];
  let used = 0.49;
  const watch = new AuditWatch({ usedPart: () => used }, ({ event }) => warned.push(event));
  for (const part of [0.49, 0.5, 0.55, 0.61, 0.62, 1.2]) {
    used = part;
    watch.check();
  }
  expect(warned).toEqual(['audit_grows', 'audit_grows', 'audit_grows']);
});
