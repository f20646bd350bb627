import { expect, it } from 'vitest';
import { cacheHintOf } from './cache-hint.ts';

it('reads the lifetime and the audience of a result', () => {
  expect(cacheHintOf({ content: [], ttlMs: 500 })).toEqual({ ttlMs: 500, public: false });
  expect(cacheHintOf({ ttlMs: 500, cacheScope: 'public' })).toEqual({ ttlMs: 500, public: true });
  expect(cacheHintOf({ _meta: { ttlMs: 5, cacheScope: 'public' } })).toEqual({ ttlMs: 5, public: true });
});

it('takes both from one place: what stands at the top level is not mixed with _meta', () => {
  expect(cacheHintOf({ ttlMs: 500, _meta: { ttlMs: 9, cacheScope: 'public' } })).toEqual({
    ttlMs: 500,
    public: false,
  });
});

it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '500', null])(
  'takes a ttlMs of %s for none',
  (ttlMs) => {
    expect(cacheHintOf({ ttlMs }).ttlMs).toBeUndefined();
  },
);

it('is private unless the word is exactly public', () => {
  for (const cacheScope of ['private', 'Public', true, undefined]) {
    expect(cacheHintOf({ ttlMs: 1, cacheScope }).public).toBe(false);
  }
  expect(cacheHintOf({ _meta: 'none' })).toEqual({ ttlMs: undefined, public: false });
});
