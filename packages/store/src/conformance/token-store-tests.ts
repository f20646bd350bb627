import { describe, expect, it } from 'vitest';
import type { HoldRecord, TokenRecord, TokenStore } from '../token-store.ts';

/** A token store over storage of its own, which disposing removes. */
export interface TokenStoreUnderTest extends AsyncDisposable {
  readonly store: TokenStore;
  /** Closes the store and opens another one over the same storage. */
  reopen(): Promise<TokenStore>;
}

const plain: TokenRecord = {
  id: 'one',
  hash: 'aa',
  agent: 'ann',
  role: 'worker',
  permissions: [],
  createdAt: 1,
};
const child: TokenRecord = {
  id: 'two',
  hash: 'bb',
  agent: 'ci-*',
  role: 'worker',
  permissions: ['mint', 'operator'],
  roles: ['worker', 'tester'],
  createdAt: 2,
  expiresAt: 3,
  parentId: 'one',
  isSignIn: true,
};

/** Defines Vitest tests of the rules that every `TokenStore` must follow. Each test opens a store of its own. */
export function tokenStoreConformance(name: string, open: () => Promise<TokenStoreUnderTest>): void {
  describe(`${name} is a TokenStore:`, () => {
    it('keeps tokens over a restart, in the order of their making', async () => {
      await using setup = await open();
      expect(await setup.store.all()).toEqual([]);
      await setup.store.add(child);
      await setup.store.add(plain);
      const store = await setup.reopen();
      expect(await store.all()).toEqual([plain, child]);
    });

    it('forgets a token once', async () => {
      await using setup = await open();
      const { store } = setup;
      await store.add(plain);
      await store.add(child);
      expect(await store.remove('two')).toEqual(['two']);
      expect(await store.remove('two')).toEqual([]);
      expect(await store.all()).toEqual([plain]);
    });

    it('removes with a token those that end with it, and adds none for an issuer that is revoked', async () => {
      await using setup = await open();
      const { store } = setup;
      const issuer = { id: 'one', isStored: true };
      const grandchild = { ...plain, id: 'three', hash: 'cc', createdAt: 4, parentId: 'two' };
      const other = { ...plain, id: 'four', hash: 'dd', createdAt: 5 };
      expect(await store.add(plain)).toBe(true);
      expect(await store.add(child, issuer)).toBe(true);
      await store.add(grandchild, { id: 'two', isStored: true });
      expect(await store.add(other, issuer)).toBe(true);
      expect((await store.remove('one')).sort()).toEqual(['one', 'three', 'two']);
      expect(await store.add(child, issuer)).toBe(false);
      expect(await store.all()).toEqual([other]);
      // A token of an identity provider is stored only once it is revoked.
      const provided = { id: 'jwt:1', isStored: false };
      const revoked = { ...plain, id: 'jwt:1', hash: 'ee', createdAt: 6 };
      expect(await store.add({ ...child, parentId: 'jwt:1' }, provided)).toBe(true);
      expect(await store.remove('jwt:1', revoked)).toEqual(['two']);
      expect(await store.add({ ...child, parentId: 'jwt:1' }, provided)).toBe(false);
      expect(await (await setup.reopen()).all()).toEqual([other, revoked]);
    });

    it('rejects a token whose id or hash is in use, and takes another', async () => {
      await using setup = await open();
      const { store } = setup;
      await store.add(plain);
      await expect(store.add({ ...child, id: 'one' })).rejects.toMatchObject({ code: 'store_failed' });
      await expect(store.add({ ...child, hash: 'aa' })).rejects.toMatchObject({ code: 'store_failed' });
      await store.add(child);
      expect(await store.all()).toEqual([plain, child]);
    });

    it('remembers agents that connected, each once and the newest 100,000, over a restart', async () => {
      await using setup = await open();
      expect(await setup.store.agents()).toEqual([]);
      await setup.store.addAgents(['ann', 'bob']);
      await setup.store.addAgents(['bob', 'kim']);
      const store = await setup.reopen();
      expect(await store.agents()).toEqual(['ann', 'bob', 'kim']);
      await store.addAgents(Array.from({ length: 99_999 }, (_, i) => `agent-${i}`));
      const agents = await store.agents();
      expect(agents).not.toContain('ann');
      expect(agents.slice(0, 2)).toEqual(['kim', 'agent-0']);
      expect(agents.length).toBeLessThanOrEqual(100_000);
    });

    it('keeps holds over a restart, the oldest first, and removes each once', async () => {
      await using setup = await open();
      const by = { by: 'operator.kim', tokenId: 't1', cancelsRunning: true };
      const first: HoldRecord = { id: 'h1', on: 'agent', name: 'rosa', reason: 'why', createdAt: 1, ...by };
      const second: HoldRecord = {
        id: 'h2',
        on: 'all',
        name: '',
        reason: 'why',
        createdAt: 2,
        until: 3,
        ...by,
      };
      await setup.store.addHold(second);
      await setup.store.addHold(first);
      await setup.store.addHold({ ...first, id: 'h3' });
      expect(await setup.store.removeHold('h3')).toBe(true);
      expect(await setup.store.removeHold('h3')).toBe(false);
      const store = await setup.reopen();
      expect(await store.holds()).toEqual([first, second]);
    });
  });
}
