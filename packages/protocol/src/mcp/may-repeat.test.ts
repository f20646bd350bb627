import { expect, it } from 'vitest';
import { mayRepeat, withRepeatOverride } from './may-repeat.ts';

const tool = (annotations?: Record<string, unknown>) => ({
  name: 't',
  inputSchema: { type: 'object' as const },
  ...(annotations && { annotations }),
});

it('lets any call that was never sent be made again', () => {
  expect(mayRepeat(tool(), false)).toBe(true);
});

it('lets a sent call be made again only if its tool says that this is safe', () => {
  expect(mayRepeat(tool({ readOnlyHint: true }), true)).toBe(true);
  expect(mayRepeat(tool({ idempotentHint: true }), true)).toBe(true);
  expect(mayRepeat(tool({ readOnlyHint: 'true', destructiveHint: false }), true)).toBe(false);
  expect(mayRepeat(tool(), true)).toBe(false);
});

it("puts the operator's word above every claim of the server itself", () => {
  const readOnly = tool({ readOnlyHint: true });
  expect(mayRepeat(withRepeatOverride(tool(), 'safe'), true)).toBe(true);
  expect(mayRepeat(withRepeatOverride(readOnly, 'never'), true)).toBe(false);
  expect(mayRepeat(withRepeatOverride(readOnly, 'never'), false)).toBe(true);
  const claimed = { ...tool(), _meta: { 'signalbox/repeat': 'safe', other: 1 } };
  expect(mayRepeat(withRepeatOverride(claimed, undefined), true)).toBe(false);
  expect(withRepeatOverride(claimed, undefined)._meta).toEqual({ other: 1 });
  expect(withRepeatOverride(readOnly, undefined)).toBe(readOnly);
});
